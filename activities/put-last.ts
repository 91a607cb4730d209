/** Puts an entry last into a map, and takes out the one that stands first where there are more than `most`. */
export function putLast<Value>(entries: Map<string, Value>, name: string, value: Value, most: number): Value {
  entries.delete(name);
  entries.set(name, value);
  const [first] = entries.keys();
  if (entries.size > most && first !== undefined) entries.delete(first);
  return value;
}
