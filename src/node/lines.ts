// The log of a worker on its way into the log of the node: whole lines, each JSON. What the runtime
// writes by itself before it ends, such as that memory ran out, becomes a line of the log.

interface Sink {
  /** A line as it is, with its end. */
  write(line: string): void;
  /** Of text that is no line of the log. */
  other(text: string): void;
}

/** Takes text piece by piece. A line that a killed worker has not finished is left out. */
export function linesInto(sink: Sink): (piece: string) => void {
  let rest = '';
  return (piece) => {
    const text = rest + piece;
    let from = 0;
    for (let end = text.indexOf('\n'); end >= 0; end = text.indexOf('\n', from)) {
      if (text.startsWith('{', from)) sink.write(text.slice(from, end + 1));
      else if (end > from) sink.other(text.slice(from, end));
      from = end + 1;
    }
    rest = text.slice(from);
  };
}
