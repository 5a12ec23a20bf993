// A request as a text with holes, so that every load generator makes the same requests:
//   {count}    a number that is never used twice in a benchmark, and only grows;
//   {product}  six digits that name one of the products at random.

export interface RequestTemplate {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** JSON in ASCII. With it goes an Idempotency-Key made of {count}. */
  readonly body?: string;
}

export const idempotencyKey = 'bench-0000-0000-{count}';

export const productDigits = 6;

export interface Target {
  readonly host: string;
  readonly port: number;
  readonly token: string;
  /** Products are numbered from 1 to this. */
  readonly products: number;
}

type Fill = (count: number, product: string) => string;

function filler(text: string): Fill {
  const parts = text.split(/(\{count\}|\{product\})/);
  return (count, product) => {
    let filled = '';
    for (const part of parts) {
      if (part === '{count}') filled += count;
      else if (part === '{product}') filled += product;
      else filled += part;
    }
    return filled;
  };
}

/** Makes whole HTTP messages, each with the next count. */
export function messages(
  template: RequestTemplate,
  target: Target,
  firstCount: number,
): () => string {
  const head = [
    `${template.method} ${template.path} HTTP/1.1`,
    `Host: ${target.host}:${target.port}`,
    `Authorization: Bearer ${target.token}`,
  ];
  const write = [`Idempotency-Key: ${idempotencyKey}`, 'Content-Type: application/json'];
  const isWrite = template.body !== undefined;
  const fillHead = filler([...head, ...(isWrite ? write : [])].join('\r\n'));
  const fillBody = filler(template.body ?? '');
  let count = firstCount;
  return () => {
    count += 1;
    const number = 1 + Math.floor(Math.random() * target.products);
    const product = String(number).padStart(productDigits, '0');
    if (!isWrite) return `${fillHead(count, product)}\r\n\r\n`;
    const body = fillBody(count, product);
    return `${fillHead(count, product)}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
  };
}
