// Lines of JSON as rows: each is one object, read as strictly as the service reads a body.

import { decodeJsonObject, JsonFault } from '../contract/json.ts';
import { limits } from '../core/limits.ts';
import { Unreadable } from './fault.ts';
import type { Sheet, SheetRow } from './sheet.ts';

/** No valid row is longer: its body could not be sent. */
const lineBytesMax = 1_000_000;
const newline = 0x0a;
const byteOrderMark = Buffer.from([0xef, 0xbb, 0xbf]);
const most = { depth: limits.jsonDepthMax, values: limits.jsonValuesMax };

export async function jsonRows(chunks: AsyncIterable<Buffer>): Promise<Sheet> {
  return { header: undefined, rows: rowsOf(chunks) };
}

async function* rowsOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<SheetRow> {
  let index = 0;
  let line = 0;
  for await (const bytes of linesOf(chunks)) {
    line += 1;
    if (/^\s*$/.test(bytes.subarray(0, 64).toString('latin1')) && isBlank(bytes)) continue;
    yield rowOf(bytes, index, line);
    index += 1;
  }
}

function rowOf(bytes: Buffer, index: number, line: number): SheetRow {
  try {
    return { index, line, cells: [], object: decodeJsonObject(bytes, most), faults: [] };
  } catch (error) {
    if (!(error instanceof JsonFault)) throw error;
    const [what = '', offset] = error.message.split(', at character ');
    const place = offset === undefined ? bytes.toString('utf8').indexOf('\uFFFD') : Number(offset);
    const column = place < 0 ? '' : `character ${place + 1}`;
    const message = `is no JSON object: ${what.replace('the body', 'the line')}`;
    return { index, line, cells: [], object: undefined, faults: [{ line, column, message }] };
  }
}

const isBlank = (bytes: Buffer) => bytes.toString('latin1').trim() === '';

async function* linesOf(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let parts: Buffer[] = [];
  let size = 0;
  let line = 1;
  let isFirst = true;
  for await (const chunk of chunks) {
    let from = isFirst && chunk.subarray(0, 3).equals(byteOrderMark) ? 3 : 0;
    isFirst = false;
    for (let at = chunk.indexOf(newline, from); at >= 0; at = chunk.indexOf(newline, from)) {
      yield Buffer.concat([...parts, chunk.subarray(from, at)]);
      parts = [];
      size = 0;
      line += 1;
      from = at + 1;
    }
    parts.push(chunk.subarray(from));
    size += chunk.length - from;
    if (size > lineBytesMax) {
      const message = `is longer than ${lineBytesMax / 1_000_000} MB`;
      throw new Unreadable({ line, column: '', message });
    }
  }
  if (size > 0) yield Buffer.concat(parts);
}
