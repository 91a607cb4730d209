/**
 * What the workflows of this process show, which their worker logs: a test looks at a run when the run has shown something,
 * not by the clock.
 */
import { EventEmitter, once } from 'node:events';
import { DefaultLogger, type LogLevel, type LogMetadata } from '@temporalio/worker';
import { SHOWN } from '../../workflows/names.ts';

const shown = new EventEmitter();
shown.setMaxListeners(0);
const heard = new Set<string>();

/** Whoever has shown something here will again; others, whose worker is another process, are looked at more often. */
const [LOOK_ANYWAY_MS, LOOK_ELSEWHERE_MS] = [3_000, 400] as const;

/** Prints no more than errors, and hears what is shown. */
export class ListeningLogger extends DefaultLogger {
  constructor() {
    super('ERROR');
  }

  override log(level: LogLevel, message: string, meta?: LogMetadata): void {
    if (message === SHOWN) {
      const workflowId = String(meta?.['workflowId']);
      heard.add(workflowId);
      shown.emit('shown', workflowId);
    }
    super.log(level, message, meta);
  }
}

/** One who follows a workflow, and the chunks whose ids begin with its own. */
export class Follower {
  /** How much was shown. */
  count = 0;
  readonly #workflowId: string;
  readonly #hear: (workflowId: string) => void;
  readonly #news = new EventEmitter();
  #isNew = false;

  constructor(workflowId: string) {
    this.#workflowId = workflowId;
    this.#hear = (by) => {
      if (by !== workflowId && !by.startsWith(`${workflowId}/`)) return;
      this.count += 1;
      this.#isNew = true;
      this.#news.emit('news');
    };
    shown.on('shown', this.#hear);
  }

  /** Resolves when something was shown that no earlier call has told of, and now and then in any case. */
  async next(): Promise<void> {
    if (!this.#isNew) {
      const isLate = AbortSignal.timeout(heard.has(this.#workflowId) ? LOOK_ANYWAY_MS : LOOK_ELSEWHERE_MS);
      await once(this.#news, 'news', { signal: isLate }).catch(() => {});
    }
    this.#isNew = false;
  }

  close(): void {
    shown.off('shown', this.#hear);
  }
}
