// What each part costs, as it was measured, and where the figure comes from. A file of the operator
// may replace any of them by its name.

interface Cost {
  readonly value: number;
  readonly from: string;
}

const table = 'docs/contribute/performance.md, one run at 1, 16, 64 and 256 connections';

/** Of processor time, in milliseconds, unless the name says another unit. */
const measuredCosts = {
  nodeRequest: {
    value: 0.042,
    from: `${table}: get product at 64 connections, without its shares of two queries`,
  },
  nodeQuery: {
    value: 0.14,
    from: `${table}: get product at 1 connection (0.327), less at 64, by two queries`,
  },
  nodeShared: { value: 0.004, from: 'what is left of get product at 256 connections: a guess' },
  nodeList: {
    value: 0.36,
    from: `${table}: list 50 products at 16 connections, less the request and its look-up`,
  },
  nodeBatch: {
    value: 0.8,
    from: `${table}: adjust at 1 connection (1.136), less the request, its look-up, the write`,
  },
  nodeWrite: { value: 0.12, from: `${table}: adjust at 64 and 256 connections (0.2)` },
  nodeDelivery: { value: 0.26, from: 'docs/decisions/0020' },
  databaseLookUp: { value: 0.09, from: `${table}: half of get product at 1 connection (0.172)` },
  databaseShared: { value: 0.006, from: `${table}: get product at 256 connections (0.012)` },
  databaseList: { value: 0.33, from: `${table}: list 50 products (0.34), less the look-up` },
  databaseBatch: {
    value: 0.95,
    from: `${table}: adjust at 1 connection (1.159), less the look-up and the write`,
  },
  databaseWrite: { value: 0.18, from: `${table}: adjust at 256 connections (0.204)` },
  databaseLoadShare: {
    value: 0.3,
    from: 'the part before the journal is locked: a guess from the number of statements',
  },
  flush: {
    value: 0.07,
    from: `${table}: p50 less processor time of an insert by the database alone, its disk`,
  },
  clientRequest: {
    value: 0.02,
    from: 'wrk on the same two cores: a bare route at 37,900 a second left it no more',
  },
  bytesOfTables: { value: 672, from: 'docs/operate/scale.md: 15,000 adjustments measured' },
  bytesOfIndexes: { value: 1_444, from: 'docs/operate/scale.md: 15,000 adjustments measured' },
  walBytes: { value: 2_890, from: 'docs/operate/scale.md: in batches; 4,300 one by one' },
} as const satisfies Readonly<Record<string, Cost>>;

export type CostName = keyof typeof measuredCosts;
export type Costs = Readonly<Record<CostName, number>>;

export const defaultCosts = Object.fromEntries(
  Object.entries(measuredCosts).map(([name, { value }]) => [name, value]),
) as Costs;

const isCostName = (name: string): name is CostName => Object.hasOwn(measuredCosts, name);

/**
 * The costs that were measured, with those of a file in their place.
 * @throws Error that says what is wrong with it.
 */
export function costsFrom(text: string): Costs {
  const given: unknown = JSON.parse(text);
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new Error('it must be one JSON object, such as {"flush": 1.2}');
  }
  for (const [name, value] of Object.entries(given)) {
    if (!isCostName(name)) {
      const known = Object.keys(measuredCosts).join(', ');
      throw new Error(`"${name}" is no cost; there are ${known}`);
    }
    const isGood = typeof value === 'number' && Number.isFinite(value) && value >= 0;
    if (!isGood) throw new Error(`"${name}" must be a number, 0 or more`);
    if (name === 'databaseLoadShare' && value > 1) throw new Error(`"${name}" must be at most 1`);
  }
  return { ...defaultCosts, ...given };
}
