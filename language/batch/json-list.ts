/** A JSON list of payments, where JSON Lines are read: the same objects, each on a line of its own. */

/** A text, a sign, or a word: the parts of valid JSON. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g;

/** The objects as they are written, but for their line ends; null: the text is no list of objects. */
export function linesOfList(text: string): string | null {
  if (!isListOfObjects(text)) return null;
  const objects: string[] = [];
  let depth = 0;
  let start = 0;
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token === '{' || token === '[') {
      depth += 1;
      if (depth === 2) start = index;
    } else if (token === '}' || token === ']') {
      if (depth === 2) objects.push(text.slice(start, index + 1));
      depth -= 1;
    }
  }
  // No text of JSON holds a line end.
  return objects.map((object) => `${object.replaceAll(/\s*[\r\n]\s*/g, ' ')}\n`).join('');
}

function isListOfObjects(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return Array.isArray(value) && value.length > 0 && value.every(isObject);
  } catch {
    return false;
  }
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
