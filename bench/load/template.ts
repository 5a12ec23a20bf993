// A request as a text with holes, so that every load generator makes the same requests:
//   {count}     a number that is never used twice in a benchmark, and only grows;
//   {used}      six digits, one of the keys that were used before the benchmark began;
//   {product}, {movement}   digits that name one of them at random, another in each hole;
//   {location}, {prefix}    of the merchant that asks, one of several at random.

export interface RequestTemplate {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  /** JSON in ASCII, for a POST, and its Idempotency-Key. */
  readonly body?: string;
  readonly key?: string;
  /** How an answer 2xx is told: a movement recorded, a replay, or anything else. */
  readonly answer: 'movement' | 'replay' | 'other';
}

export const productDigits = 6;
export const movementDigits = 7;

/** Who asks: each request is one merchant's, with its own token. */
export interface Caller {
  readonly token: string;
  readonly location: string;
  /** What comes before the digits in the ID of a product. */
  readonly productPrefix: string;
}

/** How many there are of what a request names at random. They are numbered from 1. */
export interface Numbers {
  readonly products: number;
  readonly movements: number;
  readonly usedKeys: number;
}

/** What is asked, of whom, and how often: with weight 2 twice as often as with weight 1. */
export interface LoadPlan {
  readonly requests: readonly { readonly weight: number; readonly template: RequestTemplate }[];
  readonly callers: readonly Caller[];
  readonly numbers: Numbers;
}

export interface FilledRequest {
  readonly template: RequestTemplate;
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/** Each template as often as its weight says. */
function weighted({ requests }: LoadPlan): RequestTemplate[] {
  return requests.flatMap(({ weight, template }) => Array.from({ length: weight }, () => template));
}

/** @returns what makes the next request, with the next count. */
export function filler(plan: LoadPlan, firstCount: number): () => FilledRequest {
  const templates = weighted(plan);
  let count = firstCount;
  return () => {
    count += 1;
    const caller = oneOf(plan.callers);
    const template = oneOf(templates);
    const fill = (text: string) =>
      text.replace(/\{([a-z]+)\}/g, (_, hole: string) => filling(hole, plan, caller, count));
    const { method, path, body, key } = template;
    const headers: Record<string, string> = { Authorization: `Bearer ${caller.token}` };
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (key !== undefined) headers['Idempotency-Key'] = fill(key);
    const filled = body === undefined ? undefined : fill(body);
    return { template, method, path: fill(path), headers, body: filled };
  };
}

function filling(hole: string, { numbers }: LoadPlan, caller: Caller, count: number): string {
  if (hole === 'count') return String(count);
  if (hole === 'used') return digits((count % numbers.usedKeys) + 1, productDigits);
  if (hole === 'product') return digits(anyOf(numbers.products), productDigits);
  if (hole === 'movement') return digits(anyOf(numbers.movements), movementDigits);
  if (hole === 'location') return caller.location;
  if (hole === 'prefix') return caller.productPrefix;
  throw new Error(`no hole is called ${hole}`);
}

function digits(number: number, places: number): string {
  return String(number).padStart(places, '0');
}

function anyOf(most: number): number {
  return 1 + Math.floor(Math.random() * most);
}

function oneOf<Item>(items: readonly Item[]): Item {
  const item = items[Math.floor(Math.random() * items.length)];
  if (item === undefined) throw new Error('there is nothing to choose from');
  return item;
}
