/**
 * An error that is an expected end is told by its message. Its stack would only put paths of a machine into a history.
 * Faults of this program keep their stacks.
 */
export function withoutStack<Expected extends Error>(error: Expected): Expected {
  error.stack = '';
  return error;
}
