// One write of every kind, accepted and refused, with what a client may send later under the same
// key: the same meaning in other words, and something else. Earlier versions were sent these, and
// what they bound and answered is kept beside this file.

export interface Step {
  readonly name: string;
  readonly method: 'POST' | 'PATCH';
  readonly path: string;
  readonly ifMatch?: string;
  readonly body: Body;
  /** The same meaning: other members' order, defaults spelled out, other digits. */
  readonly again: Body;
  /** Another meaning. */
  readonly changed: Body;
}

type Body = Readonly<Record<string, unknown>>;

/** The resource that a step before this one made. */
export type IdOf = (step: string) => string;

export const steps: readonly ((idOf: IdOf) => Step)[] = [
  () => ({
    name: 'oil',
    method: 'POST',
    path: '/products',
    body: {
      name: 'Olive oil, ½ l “fine”',
      sku: 'OIL-½',
      unit: { code: 'l', precision: 3 },
      price: { amount: '4.50', currency: 'EUR' },
      metadata: { shelf: '7', ключ: 'värde 😀' },
    },
    again: {
      metadata: { ключ: 'värde 😀', shelf: '7' },
      price: { currency: 'EUR', amount: '4.50' },
      inventory_tracked: true,
      unit: { precision: 3, code: 'l' },
      sku: 'OIL-½',
      name: 'Olive oil, ½ l “fine”',
    },
    changed: { name: 'Olive oil', sku: 'OIL-½' },
  }),
  () => ({
    name: 'flour',
    method: 'POST',
    path: '/products',
    body: { name: 'Flour' },
    again: {
      metadata: {},
      unit: { code: 'each', precision: 0 },
      inventory_tracked: true,
      name: 'Flour',
    },
    changed: { name: 'flour' },
  }),
  () => ({
    name: 'the same SKU again',
    method: 'POST',
    path: '/products',
    body: { name: 'Another oil', sku: 'OIL-½' },
    again: { sku: 'OIL-½', name: 'Another oil' },
    changed: { name: 'Another oil', sku: 'OIL-¼' },
  }),
  () => ({
    name: 'Ada',
    method: 'POST',
    path: '/customers',
    body: { name: 'Ada "née" \\ Ångström', email: 'Ada@Example.COM', phone: '+493012345678' },
    again: { phone: '+493012345678', email: 'Ada@Example.COM', name: 'Ada "née" \\ Ångström' },
    changed: { name: 'Ada "née" \\ Ångström', email: 'Ada@Example.COM', phone: '+493012345679' },
  }),
  () => ({
    name: 'Main Street',
    method: 'POST',
    path: '/locations',
    body: { name: 'Main Street' },
    again: { timezone: 'UTC', type: 'other', name: 'Main Street' },
    changed: { name: 'Main Street', type: 'store' },
  }),
  () => ({
    name: 'Depot',
    method: 'POST',
    path: '/locations',
    body: { name: 'Depot', code: 'D-1', type: 'warehouse', external_id: 'erp/1' },
    again: { external_id: 'erp/1', type: 'warehouse', code: 'D-1', name: 'Depot' },
    changed: { name: 'Depot', code: 'D-1', type: 'warehouse' },
  }),
  (idOf) => ({
    name: 'a new price',
    method: 'PATCH',
    path: `/products/${idOf('oil')}`,
    ifMatch: '"1"',
    body: { price: null, description: 'Cold pressed.', metadata: { shelf: null, row: '2' } },
    again: { metadata: { row: '2', shelf: null }, description: 'Cold pressed.', price: null },
    changed: { price: null, description: 'Cold pressed.' },
  }),
  (idOf) => ({
    name: 'a price for a version that has passed',
    method: 'PATCH',
    path: `/products/${idOf('oil')}`,
    ifMatch: '"1"',
    body: { price: { amount: '5.00', currency: 'EUR' } },
    again: { price: { currency: 'EUR', amount: '5.00' } },
    changed: { price: { amount: '5.01', currency: 'EUR' } },
  }),
  (idOf) => ({
    name: 'a note',
    method: 'PATCH',
    path: `/customers/${idOf('Ada')}`,
    body: { note: 'Rings twice.', phone: null },
    again: { phone: null, note: 'Rings twice.' },
    changed: { note: 'Rings once.', phone: null },
  }),
  (idOf) => ({
    name: 'a time zone',
    method: 'PATCH',
    path: `/locations/${idOf('Depot')}`,
    body: { timezone: 'Europe/Berlin' },
    again: { timezone: 'Europe/Berlin' },
    changed: { timezone: 'Europe/Paris' },
  }),
  adjustment('the first count', { target_quantity: '12.50' }, { target_quantity: '12.5' }),
  adjustment('no change', { target_quantity: '12.5' }, { target_quantity: '12.500' }),
  adjustment(
    'another quantity than expected',
    { target_quantity: '3', expected_quantity: '1.10' },
    { target_quantity: '3.0', expected_quantity: '1.1' },
  ),
  adjustment('more decimals than its unit', { target_quantity: '1.2345' }, {}),
  adjustment('an empty shelf', { target_quantity: '0', expected_quantity: '12.5' }, {}),
  adjustment(
    'as much as can be',
    { target_quantity: '999999999999.999', note: 'né "q" \\ \u2028 😀', reference: 'count/7' },
    {},
  ),
  adjustment('a product that is not there', { product_id: `prod_${'0'.repeat(26)}` }, {}),
  ...Array.from({ length: 12 }, (_, index) => {
    const target = `${100 + 3 * index}`;
    return adjustment(
      `count ${index + 1}`,
      { target_quantity: target, reason: 'external_adjustment' },
      { target_quantity: `${target}.0` },
    );
  }),
];

function adjustment(name: string, members: Body, others: Body): (idOf: IdOf) => Step {
  return (idOf) => {
    const body = {
      product_id: idOf(name.startsWith('count') ? 'flour' : 'oil'),
      location_id: idOf(name.startsWith('count') ? 'Depot' : 'Main Street'),
      target_quantity: '7',
      reason: 'stock_count',
      ...members,
    };
    const reversed = Object.fromEntries(Object.entries({ ...body, ...others }).reverse());
    return {
      name,
      method: 'POST',
      path: '/inventory/adjustments',
      body,
      again: reversed,
      changed: { ...body, reason: 'correction' },
    };
  };
}

/** Keys of the shortest and the longest form, and with every visible character. */
export function keyOf(index: number): string {
  const visible = Array.from({ length: 94 }, (_, code) => String.fromCharCode(33 + code)).join('');
  const number = String(index).padStart(3, '0');
  if (index % 3 === 0) return `key-of-16-ch-${number}`;
  if (index % 3 === 1) return `${number}${visible}`;
  return `${number}-`.padEnd(255, 'k');
}

/** What is read before and after. */
export function listsOf(idOf: IdOf): readonly string[] {
  const pages = ['/products', '/customers', '/locations', '/operations', '/inventory/movements'];
  const levels = ['Main Street', 'Depot'].map(
    (name) => `/inventory/levels?location_id=${idOf(name)}&limit=200`,
  );
  return [
    ...pages.map((path) => `${path}?limit=200`),
    ...levels,
    `/products/${idOf('oil')}/levels?limit=200`,
  ];
}
