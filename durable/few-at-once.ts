/** Asks about each item, `atOnce` of them side by side. The answers stand in the order of the items. */
export async function fewAtOnce<Item, Answer>(
  items: readonly Item[],
  atOnce: number,
  ask: (item: Item) => Promise<Answer>,
): Promise<readonly Answer[]> {
  const answers: Answer[] = [];
  for (let from = 0; from < items.length; from += atOnce)
    // One group after the other.
    answers.push(...(await Promise.all(items.slice(from, from + atOnce).map(ask))));
  return answers;
}
