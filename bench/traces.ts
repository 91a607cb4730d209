/** What it costs that a worker sends spans (OTEL_EXPORTER_OTLP_ENDPOINT): the same batch with and without, in turn. */
import { newTraces } from '../config/traces/open.ts';
import { openCollector } from '../test/support/collector.ts';
import { openStage } from '../test/support/stage.ts';
import { tracesOfWorker } from '../worker/traces.ts';
import { counted, number, plain, type Section } from './figures.ts';
import { inTurn, rateBy } from './in-turn.ts';
import { AT_ONCE } from './payouts.ts';

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
    await rateBy(stage, { traces }, 100, 'warm-up');
    const rates = await inTurn(
      turns,
      {
        without: (turn) => rateBy(stage, {}, payments, `without-${turn}`),
        kept: (turn) => rateBy(stage, { traces }, payments, `traced-${turn}`),
      },
      { without: 'without', kept: 'with spans', against: 'one without' },
      MOST,
    );
    await opened.close();
    const spans = collector.spans();
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
        ...rates,
      ],
    };
  } finally {
    await stage.close();
    await collector.close();
  }
}
