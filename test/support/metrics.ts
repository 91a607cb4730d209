/** The metrics of a worker process, as Prometheus reads them. */

export type Scraped = {
  /** The text of the endpoint. */
  readonly text: string;
  /** The value of the series with these labels; null: there is none. */
  readonly value: (name: string, labels?: Readonly<Record<string, string>>) => number | null;
};

export async function scrape(address: string): Promise<Scraped> {
  const answer = await fetch(`http://${address}/metrics`);
  const text = await answer.text();
  return { text, value: (name, labels = {}) => valueIn(text, name, labels) };
}

function valueIn(text: string, name: string, labels: Readonly<Record<string, string>>): number | null {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text.split('\n').find((each) => {
    const [, of, inside = ''] = /^([a-z_]+)(?:\{(.*)\})? /.exec(each) ?? [];
    return of === name && wanted.every((one) => inside.includes(one));
  });
  return line === undefined ? null : Number(line.slice(line.lastIndexOf(' ') + 1));
}
