/** `tryScheduled`: whether this worker could start a policy by its schedule. It reads files, and starts nothing. */
import { makeProblem } from '../domain/problems.ts';
import { lineOf, misshapen, type Fields } from '../domain/shape.ts';
import type { Activities } from '../workflows/calls.ts';
import type { Deps } from './deps.ts';
import { foreignMode } from './own-mode.ts';
import { SCHEDULED_INPUT } from './start-scheduled.ts';

const INPUT: Fields = { ...SCHEDULED_INPUT, token: lineOf(100) };

export const tryScheduled =
  (deps: Deps): Activities['tryScheduled'] =>
  async (input) => {
    const why = misshapen(input, INPUT);
    if (why !== null) {
      const message = `The input of this question is not one that Cambist makes. ${why}`;
      return { kind: 'refused', problems: [makeProblem('INPUT_INVALID', null, { message })] };
    }
    const foreign = foreignMode(deps, input.mode);
    return foreign === null ? deps.tryScheduled(input) : { kind: 'refused', problems: [foreign.problem] };
  };
