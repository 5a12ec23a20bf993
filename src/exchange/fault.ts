// What is wrong with a file, and where.

export interface RowFault {
  /** From 1; 0: the file as a whole. */
  readonly line: number;
  /** Such as `column 3 (sku)`; empty: the line as a whole. */
  readonly column: string;
  readonly message: string;
}

export function faultText({ line, column, message }: RowFault): string {
  const place = [line === 0 ? '' : `line ${line}`, column].filter(Boolean).join(', ');
  return place === '' ? message : `${place}: ${message}`;
}

/** What follows cannot be read. */
export class Unreadable extends Error {
  readonly fault: RowFault;

  constructor(fault: RowFault) {
    super(faultText(fault));
    this.fault = fault;
  }
}

/** The file has faults, which were told one by one. Nothing of it was sent. */
export class FileFaults extends Error {}
