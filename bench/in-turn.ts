/** The same batch without something and with it, in turn, so that what else the machine does meets both. */
import type { Stage } from '../test/support/stage.ts';
import { median, number, plain, timed, type Figure } from './figures.ts';
import { payBatch } from './payouts.ts';

/** Payments a second in one turn. */
type RateOf = (turn: number) => Promise<number>;

/**
 * Measures both in turn; the medians count.
 * @param names what their rates are called, and what the ratio of them is held against. @param most the goal of the ratio
 */
export async function inTurn(
  turns: number,
  both: { readonly without: RateOf; readonly kept: RateOf },
  names: { readonly without: string; readonly kept: string; readonly against: string },
  most: number,
): Promise<readonly Figure[]> {
  const [without, kept]: [number[], number[]] = [[], []];
  for (let turn = 1; turn <= turns; turn += 1) {
    without.push(await both.without(turn));
    kept.push(await both.kept(turn));
  }
  const ratio = median(without) / median(kept);
  return [
    plain(`payments a second, ${names.without}`, number(median(without))),
    plain(`payments a second, ${names.kept}`, number(median(kept))),
    timed(
      `  time of a payment, against ${names.against}`,
      `${ratio.toFixed(2)} times`,
      `at most ${most}`,
      ratio <= most,
    ),
  ];
}

/** Payments a second of a batch by a worker of its own. */
export async function rateBy(
  stage: Stage,
  options: Parameters<Stage['startWorker']>[0],
  payments: number,
  name: string,
): Promise<number> {
  const worker = await stage.startWorker(options);
  const { rate } = await payBatch(stage, payments, name);
  worker.shutdown();
  await worker.ended;
  return rate;
}
