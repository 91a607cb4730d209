/**
 * What a worker does to its activities because of the keys that seal what Temporal keeps, and that it may not have.
 *
 * Where what Temporal keeps is sealed, so is what a failed attempt of an activity says: its message and its stack go through
 * the worker's codec. The type of the failure stays plain, a code of ours. `workflows/sealed-failures.ts` does this for workflows.
 */
import type { WorkerInterceptors } from '@temporalio/worker';
import {
  CancelledFailure,
  DefaultFailureConverter,
  defaultPayloadConverter,
  ensureApplicationFailure,
} from '@temporalio/common';
import { keyMissing } from '../config/seal/codec.ts';
import { keyNeededFor } from '../domain/unreadable.ts';

const CONVERTER = new DefaultFailureConverter({ encodeCommonAttributes: true });

/** The interceptors, and one for activities. */
export function withSealedFailures(interceptors: WorkerInterceptors): WorkerInterceptors {
  const { activity = [], ...others } = interceptors;
  const sealing: (typeof activity)[number] = () => ({
    inbound: {
      execute: async (input, next) => {
        try {
          return await next(input);
        } catch (error) {
          throw sealedError(error);
        }
      },
    },
  });
  return { ...others, activity: [sealing, ...activity] };
}

/** The interceptors, and one for activities of a worker without keys: a call that is sealed waits until its key is there. */
export function withKeysAskedFor(interceptors: WorkerInterceptors): WorkerInterceptors {
  const { activity = [], ...others } = interceptors;
  const asking: (typeof activity)[number] = () => ({
    inbound: {
      execute: async (input, next) => {
        for (const each of input.args) {
          const key = keyNeededFor(each);
          if (key !== null) throw keyMissing(key);
        }
        return next(input);
      },
    },
  });
  return { ...others, activity: [asking, ...activity] };
}

/** The worker writes this error to Temporal in the form that it has here already. */
function sealedError(error: unknown): unknown {
  // What ends an attempt from outside says nothing.
  const isEndedFromOutside =
    error instanceof CancelledFailure || (error instanceof Error && error.name === 'AbortError');
  if (isEndedFromOutside) return error;
  const failure = ensureApplicationFailure(error);
  failure.failure = CONVERTER.errorToFailure(failure, defaultPayloadConverter);
  return failure;
}
