/** What it costs that a worker sends spans (OTEL_EXPORTER_OTLP_ENDPOINT): the same batch with and without, in turn. */
import { newTraces } from '../config/traces/open.ts';
import { openCollector } from '../test/support/collector.ts';
import { openStage, type Stage } from '../test/support/stage.ts';
import { tracesOfWorker, type WorkerTraces } from '../worker/traces.ts';
import { counted, median, number, plain, timed, type Section } from './figures.ts';
import { AT_ONCE, payBatch } from './payouts.ts';

const MOST = 1.1;
const SENT = 'POST /fx/withdrawals';

/** @param payments of each batch. @param turns how often each of the two is measured; the median counts */
export async function measureTraces(payments: number, turns: number): Promise<Section> {
  const collector = await openCollector();
  const stage = await openStage({ balances: { USD: '1000000000' }, settings: AT_ONCE });
  const variable = 'OTEL_EXPORTER_OTLP_ENDPOINT';
  process.env[variable] = collector.endpoint;
  try {
    const opened = newTraces({ say: (trouble) => console.error(trouble.message) });
    delete process.env[variable];
    const traces = tracesOfWorker(opened);
    // What a process loads and compiles once is no part of a payment.
    await rateOf(stage, 100, 'warm-up', traces);
    const [without, kept]: [number[], number[]] = [[], []];
    for (let turn = 1; turn <= turns; turn += 1) {
      // In turn, so that what else the machine does meets both.
      without.push(await rateOf(stage, payments, `without-${turn}`, null));
      kept.push(await rateOf(stage, payments, `traced-${turn}`, traces));
    }
    await opened.close();
    const spans = collector.spans();
    const ratio = median(without) / median(kept);
    return {
      title: `a batch of ${number(payments)} payments with spans and without, ${turns} times each`,
      figures: [
        counted(
          'sent payments without a span',
          [turns * payments + 100 - spans.filter(({ name }) => name === SENT).length],
          0,
        ),
        plain('spans for each payment', (spans.length / (turns * payments + 100)).toFixed(2)),
        plain('bytes of a span', number(collector.bodies().length / spans.length)),
        plain('payments a second, without', number(median(without))),
        plain('payments a second, with spans', number(median(kept))),
        timed(
          '  time of a payment, against one without',
          `${ratio.toFixed(2)} times`,
          `at most ${MOST}`,
          ratio <= MOST,
        ),
      ],
    };
  } finally {
    await stage.close();
    await collector.close();
  }
}

/** Payments a second of a batch by a worker of its own. */
async function rateOf(
  stage: Stage,
  payments: number,
  name: string,
  traces: WorkerTraces | null,
): Promise<number> {
  const worker = await stage.startWorker(traces === null ? {} : { traces });
  const { rate } = await payBatch(stage, payments, name);
  worker.shutdown();
  await worker.ended;
  return rate;
}
