/**
 * `instructions`: keeps what people said about a run, and facts that no reset may lose, outside the run's own
 * history (design: "Instructions"). That of a chunk keeps facts alone. It accepts only what its closed schema allows. A new Temporal run of it
 * first takes over what all earlier ones of its id hold, and accepts nothing before. It ends with the run,
 * and is opened again when there is something to keep. `durable/instructions/read.ts` reads it from its
 * history.
 */
import {
  ApplicationFailure,
  allHandlersFinished,
  condition,
  continueAsNew,
  setHandler,
  workflowInfo,
} from '@temporalio/workflow';
import { BYTES_OF_A_PAGE, jsonBytes } from '../domain/json-bytes.ts';
import {
  factsOf,
  instructionOf,
  isAcceptanceOf,
  isPageOfKept,
  keptOf,
  sayingOf,
  unionOf,
} from '../domain/people/instruction-shape.ts';
import {
  NOTHING_KEPT,
  takeIn,
  type Fact,
  type Instruction,
  type Kept,
  type KeptPage,
  type Recorded,
  type Saying,
} from '../domain/people/instructions.ts';
import type { Shaped } from '../domain/shape.ts';
import { withoutStack } from '../domain/without-stack.ts';
import { keeping } from './activities.ts';
import {
  instructionsIdOf,
  noteFactsUpdate,
  recordInstructionUpdate,
  runEndedSignal,
  type InstructionsInput,
} from './names.ts';
import { neverFailTheTask } from './never-fail-the-task.ts';
import { requireOwnId } from './own-id.ts';
import { requireHandedOn } from './handed-on.ts';
import { untilAnswered } from './step-failed.ts';

/** For runs that end without telling: longer than any window, and than the service keeps anything. */
const KEPT_MS = 90 * 86_400_000;

/** @param carried what the Temporal run before this one handed on; a start from outside gives none */
export async function instructions(input: InstructionsInput, carried: unknown = null): Promise<void> {
  requireOwnId(() => instructionsIdOf(input.mode, input.run, input.chunk));
  let kept = takenFrom(carried);
  let isReady = false;
  let hasEnded = false;
  setHandler(
    recordInstructionUpdate,
    async (instruction: Instruction, saying: Saying): Promise<Recorded> => {
      await condition(() => isReady);
      const known = kept.instructions.find(({ id }) => id === instruction.id);
      if (known !== undefined) return known;
      const accepted: unknown = await keeping.acceptInstruction({ instruction });
      if (!isAcceptanceOf(instruction, accepted))
        throw invalid('The answer about the instruction is not one that Cambist makes.');
      // Meanwhile another update may have kept the same instruction, or another one.
      const taken = takeIn(kept.instructions, accepted, saying, Date.now());
      if (taken.kind !== 'kept') throw notKept(taken.kind);
      kept = unionOf([kept, { instructions: [taken.said], facts: [] }]);
      return taken.said;
    },
    {
      validator: (instruction, saying) => {
        if (input.chunk !== undefined) throw invalid('What people say about a chunk is kept with its run.');
        requireShape('instruction', instructionOf(instruction));
        requireShape('saying', sayingOf(saying));
      },
    },
  );
  setHandler(
    noteFactsUpdate,
    async (facts: readonly Fact[]): Promise<readonly Fact[]> => {
      await condition(() => isReady);
      kept = unionOf([kept, { instructions: [], facts }]);
      return facts;
    },
    { validator: (facts) => requireShape('fact', factsOf(facts)) },
  );
  setHandler(runEndedSignal, () => {
    hasEnded = true;
  });
  const isOver = await neverFailTheTask(async () => {
    kept = unionOf([await takeOver(input), kept]);
    isReady = true;
    const isLong = (): boolean => workflowInfo().continueAsNewSuggested;
    await condition(() => (hasEnded || isLong()) && allHandlersFinished(), KEPT_MS, {
      summary:
        'Waits for what people say, and then ends. When a person says something new, it is opened again',
    });
    return hasEnded || !isLong();
  });
  // If there is too much to hand on, the next Temporal run takes it over from this history.
  const handedOn = jsonBytes(kept) > BYTES_OF_A_PAGE ? NOTHING_KEPT : kept;
  if (!isOver) await continueAsNew<typeof instructions>(input, handedOn);
}

/** What all earlier Temporal runs of the id hold, read part by part. */
async function takeOver(input: InstructionsInput): Promise<Kept> {
  let earlier = NOTHING_KEPT;
  let all: number | null = null;
  for (let offset: number | null = 0; offset !== null;) {
    const ask = { ...input, offset };
    const page: KeptPage = await untilAnswered(
      'takeOverInstructions',
      () => keeping.takeOverInstructions(ask),
      isPageOfKept,
    );
    earlier = unionOf([earlier, page.kept]);
    // Temporal shows one more Temporal run now, so everything is read from the beginning. What was read
    // before counts only once.
    const isOther: boolean = all !== null && page.all !== all;
    ({ all } = page);
    offset = isOther ? 0 : page.next;
  }
  return earlier;
}

/** What the Temporal run before this one has handed on. State of another shape is ignored. */
function takenFrom(carried: unknown): Kept {
  requireHandedOn(carried);
  const shape = keptOf(carried);
  return shape.ok ? shape.value : NOTHING_KEPT;
}

const NOT_KEPT = {
  'said since': [
    'SAID_SINCE',
    'Another person has said something that this person had not seen. What this person said is not kept.',
  ],
  'too late': [
    'SAID_TOO_LATE',
    'It came too late: the person who said it does not wait for it any more. Nothing is kept.',
  ],
  'no number left': [
    'TOO_MUCH_SAID',
    'So much is said about the run that only a cancel is kept. What this person said is not kept.',
  ],
} as const;

function notKept(why: keyof typeof NOT_KEPT): ApplicationFailure {
  const [type, message] = NOT_KEPT[why];
  return withoutStack(ApplicationFailure.create({ type, message, nonRetryable: true }));
}

function requireShape(what: string, shape: Shaped<unknown>): void {
  if (!shape.ok) throw invalid(`The ${what} is not one that Cambist makes. ${shape.why}`);
}

function invalid(why: string): ApplicationFailure {
  return withoutStack(
    ApplicationFailure.create({
      type: 'INSTRUCTION_INVALID',
      message: `${why} Nothing is kept.`,
      nonRetryable: true,
    }),
  );
}
