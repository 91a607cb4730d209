/** `cambist watch`: tells a program or a webhook what `list --attention` has new and what is solved, until Ctrl-C. */
import { setTimeout as sleep } from 'node:timers/promises';
import { resolve } from 'node:path';
import type { Command } from 'commander';
import type { Ending } from '../../domain/endings.ts';
import { CommandFailure } from '../../operations/failure.ts';
import { attentionNow } from '../../operations/notify/attention-now.ts';
import {
  programReceiver,
  readSecret,
  webhookReceiver,
  type Receiver,
} from '../../operations/notify/receivers.ts';
import { StateFile } from '../../operations/notify/state-file.ts';
import { watch } from '../../operations/notify/watch.ts';
import { atPlace } from '../../operations/place.ts';
import { NOT_LOOKED, lookForFailed } from '../came-back.ts';
import { act, teach, type JsonOption, type Session } from '../command.ts';
import type { Output } from '../terminal/output.ts';
import { sayReady, untilInterrupted } from '../terminal/ready.ts';

type WatchOptions = JsonOption & {
  readonly exec?: string;
  readonly webhook?: string;
  readonly secret?: string;
  readonly state?: string;
};

export function addWatch(command: Command, session: Session): void {
  command
    .description(
      'Looks once a minute at what `list --attention` shows, and tells a program or a webhook what is new and what is solved. ' +
        'Each piece of news has an id, and is told until the receiver takes it, also over a restart: a receiver drops what it has by its id.',
    )
    .option(
      '--exec <program>',
      'a program that gets each piece of news as JSON on its stdin; it takes it by ending with 0',
    )
    .option(
      '--webhook <url>',
      'an address that gets each piece of news as a signed POST; it takes it by a 2xx',
    )
    .option('--secret <file>', 'with --webhook: a file of mode 0600 with the secret of the signature')
    .option('--state <file>', 'where to keep what was told; default: .cambist/watch.json')
    .action((options: WatchOptions) => act(session, options, (output) => tell(output, options)));
  teach(command, {
    examples: [
      'npx cambist watch --exec ./notify-somebody',
      'npx cambist watch --webhook https://alerts.example.com/cambist --secret secret.txt',
    ],
    endings: ['done', 'bad input', 'configuration', 'infrastructure'],
  });
}

/** Money that came back is looked for at the service only so often: the look may read twenty pages. */
const CAME_BACK_EVERY_MS = 900_000;

async function tell(output: Output, options: WatchOptions): Promise<Ending> {
  const { io } = output;
  const receiver = await receiverOf(output, options);
  const path = resolve(io.cwd, options.state ?? '.cambist/watch.json');
  return atPlace(output.caller, null, async (place): Promise<Ending> => {
    const file = new StateFile(path);
    const start = await file.read(place.mode);
    const ending = new AbortController();
    void untilInterrupted(io).then(() => ending.abort());
    let failed = NOT_LOOKED.failed;
    let failedAtMs = Number.NEGATIVE_INFINITY;
    sayReady(output, 'watch', { mode: place.mode, state: path, undelivered: start.outbox.length });
    await watch(
      start,
      {
        file,
        receiver,
        look: async () => {
          const nowMs = io.now();
          if (nowMs - failedAtMs >= CAME_BACK_EVERY_MS) {
            failedAtMs = nowMs;
            ({ failed } = await lookForFailed(output, place, null));
          }
          return { now: await attentionNow(place, nowMs, failed), isServiceRead: failed !== null };
        },
        nowMs: io.now,
        note: (message) => output.note(message),
        pause: async (ms, signal) => {
          await sleep(ms, undefined, { signal }).catch(() => {});
        },
      },
      ending.signal,
    );
    return 'done';
  });
}

async function receiverOf(output: Output, { exec, webhook, secret }: WatchOptions): Promise<Receiver> {
  const { env, cwd, now } = output.io;
  const refuse = (place: string, message: string): CommandFailure =>
    new CommandFailure('bad input', [
      {
        code: 'WATCH_RECEIVER',
        place,
        message,
        fix: 'Give either --exec PROGRAM, or --webhook URL with --secret FILE.',
      },
    ]);
  if (exec !== undefined && webhook !== undefined) throw refuse('--exec', 'there is --webhook as well');
  if (exec !== undefined) {
    if (secret !== undefined) throw refuse('--secret', 'it belongs to --webhook, which is not given');
    return programReceiver(exec.includes('/') ? resolve(cwd, exec) : exec, env, cwd);
  }
  if (webhook === undefined) throw refuse('--exec', 'nobody is named who is to be told');
  if (secret === undefined) throw refuse('--secret', 'it is missing: each request is signed');
  return webhookReceiver(webhook, await readSecret(resolve(cwd, secret)), now);
}
