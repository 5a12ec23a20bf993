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

/** What a table may take of a page or of a wide terminal. */
const columnsMax = 120;
/** A column is not cut below this: a few letters and "…". */
const columnLeast = 8;

/** Lines that fit the terminal, or 120 columns: longer values end with "…". */
export async function table(
  head: readonly string[],
  rows: readonly (readonly string[])[],
): Promise<string> {
  const { default: Table } = await import('cli-table3');
  const draw = (colWidths: number[]) => {
    const compact = !rows.some((row) => row.some((cell) => cell.includes('\n')));
    const drawn = new Table({
      head: [...head],
      style: { head: [], border: [], compact },
      colWidths,
    });
    for (const row of rows) drawn.push([...row]);
    return drawn.toString();
  };
  const whole = draw([]);
  // The first line shows how wide each column came out.
  const widths = whole
    .slice(1, whole.indexOf('\n') - 1)
    .split('┬')
    .map((line) => line.length);
  const most = Math.min(process.stdout.columns || columnsMax, columnsMax);
  const narrowed = narrowedTo(most - widths.length - 1, widths);
  return narrowed.some((width, place) => width !== widths[place]) ? draw(narrowed) : whole;
}

/** Takes from the widest column each time; from the first one, which names the row, last. */
function narrowedTo(most: number, widths: readonly number[]): number[] {
  const left = [...widths];
  for (let sum = left.reduce((a, b) => a + b, 0); sum > most; sum -= 1) {
    const others = left.slice(1);
    const widest = Math.max(...others);
    const place = widest > columnLeast ? others.indexOf(widest) + 1 : 0;
    if ((left[place] ?? 0) <= columnLeast) return left;
    left[place] = (left[place] ?? 0) - 1;
  }
  return left;
}

/** A time in a table, to the second, in UTC. */
export function timeText(time: string): string {
  return `${time.slice(0, 19).replace('T', ' ')}Z`;
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

/** Where an export goes, as commander takes it. */
export const fileArgument = ['[file]', 'the file; otherwise standard output', '-'] as const;

/** What was exported, unless standard output holds it. */
export async function showExport(
  flags: { readonly json?: boolean },
  done: {
    readonly file: string;
    readonly merchant_id: string;
    readonly id?: string;
    readonly records: number;
  },
): Promise<void> {
  if (done.file === '-') return;
  await show(flags, done, ({ records, file }) => `${file} has ${count(records, 'record')}.`);
}
