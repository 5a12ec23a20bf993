// What commands print. With --json exactly one JSON value and a newline; otherwise sentences and
// tables without colours, readable in a terminal and in a file.

/** Prints the value as JSON, or else what `human` makes of it. */
export async function show<Value>(
  flags: { readonly json?: boolean },
  value: Value,
  human: (value: Value) => string | Promise<string>,
  output: NodeJS.WritableStream = process.stdout,
): Promise<void> {
  const text = flags.json === true ? JSON.stringify(value) : await human(value);
  output.write(`${text}\n`);
}

export async function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const drawn = new Table({ head: [...head], style: { head: [], border: [] } });
  for (const row of rows) drawn.push([...row]);
  return drawn.toString();
}

/** Names and values below each other, the values aligned. */
export function members(pairs: readonly (readonly [name: string, value: string])[]): string {
  const width = Math.max(...pairs.map(([name]) => name.length)) + 2;
  const indent = ' '.repeat(width);
  return pairs
    .map(([name, value]) => `${name.padEnd(width)}${value.replaceAll('\n', `\n${indent}`)}`)
    .join('\n');
}

/** `1 product`, `2 products`. */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`;
}
