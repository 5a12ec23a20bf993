// Tables that read well in a terminal and are also Markdown, and numbers for them.

/** Columns of equal width, all but the first `texts` aligned to the right. */
export function markdown(rows: readonly (readonly string[])[], texts: number): string {
  const widths = (rows[0] ?? []).map((_, column) =>
    Math.max(...rows.map((row) => (row[column] ?? '').length)),
  );
  const line = (row: readonly string[]) =>
    `| ${widths
      .map((width, column) => {
        const cell = row[column] ?? '';
        return column < texts ? cell.padEnd(width) : cell.padStart(width);
      })
      .join(' | ')} |`;
  const rule = widths.map((width, column) =>
    column < texts ? '-'.repeat(width) : `${'-'.repeat(width - 1)}:`,
  );
  const [first = [], ...rest] = rows;
  return [line(first), line(rule), ...rest.map(line)].join('\n');
}

export function whole(number: number): string {
  return Math.round(number).toLocaleString('en');
}

export function decimals(number: number | undefined, places: number): string {
  return number === undefined ? '–' : number.toFixed(places);
}

export function megabytes(bytes: number | undefined): number | undefined {
  return bytes === undefined ? undefined : bytes / (1_024 * 1_024);
}
