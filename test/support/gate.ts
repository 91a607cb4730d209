/** Holds the calls of an activity before they begin, for buttons that are pressed meanwhile. */
import { EventEmitter, once } from 'node:events';
import type { WorkerInterceptors } from '@temporalio/worker';

/** `interceptors` are for the worker; nothing of this type begins before `open`. */
export function gateOf(type: string): {
  readonly interceptors: WorkerInterceptors;
  readonly open: () => void;
} {
  const opened = new EventEmitter();
  let isOpen = false;
  const interceptors: WorkerInterceptors = {
    activity: [
      ({ info }) => ({
        inbound: {
          execute: async (input, next) => {
            if (info.activityType === type && !isOpen) await once(opened, 'open');
            return next(input);
          },
        },
      }),
    ],
  };
  const open = (): void => {
    isOpen = true;
    opened.emit('open');
  };
  return { interceptors, open };
}
