// Rows in the text form of COPY, cut into slices of whole rows: each is one line, because a line
// end within a value is written as two characters.

const lineEnd = 0x0a;

/** Each slice has to be read to its end before the next. Of no rows there is none. */
export async function* slicesOf(
  rows: AsyncIterable<Buffer>,
  rowsMax: number,
): AsyncGenerator<AsyncIterable<Buffer>> {
  const chunks = rows[Symbol.asyncIterator]();
  let ahead: Buffer | undefined;
  const fill = async () => {
    if (ahead === undefined || ahead.length === 0) ahead = (await chunks.next()).value;
    return ahead;
  };
  async function* slice(): AsyncGenerator<Buffer> {
    let left = rowsMax;
    while (left > 0) {
      const chunk = await fill();
      if (chunk === undefined) return;
      let end = 0;
      for (; left > 0 && end < chunk.length; left -= 1) {
        const next = chunk.indexOf(lineEnd, end);
        if (next < 0) break;
        end = next + 1;
      }
      // The rest of the chunk belongs to a row that goes on in the next.
      if (left > 0) end = chunk.length;
      ahead = chunk.subarray(end);
      yield chunk.subarray(0, end);
    }
  }
  while ((await fill()) !== undefined) yield slice();
}
