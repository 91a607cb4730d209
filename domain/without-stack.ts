/**
 * An expected end is told by its words. Its stack would only put the paths of the machine that it happened on into a
 * history. Faults of this program keep theirs.
 */
export function withoutStack<Expected extends Error>(error: Expected): Expected {
  error.stack = '';
  return error;
}
