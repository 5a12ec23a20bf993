// What the demo shop has. No real person or product is in it: barcodes are of the range for use
// within a shop, addresses are at example.com, and telephone numbers are of the range kept for
// fiction.

export const merchantName = 'Harbour Street Provisions';

export const locations = [
  { name: 'Harbour Street Shop', code: 'SHOP', type: 'store', timezone: 'Europe/London' },
  { name: 'Market Hall Stall', code: 'STALL', type: 'store', timezone: 'Europe/London' },
  { name: 'Quayside Warehouse', code: 'WH', type: 'warehouse', timezone: 'Europe/London' },
] as const;

const units = {
  each: { code: 'each', precision: 0 },
  kg: { code: 'kg', precision: 3 },
  m: { code: 'm', precision: 2 },
} as const;

/** SKU, name, unit, price in pounds. */
const productList: readonly (readonly [string, string, keyof typeof units, string])[] = [
  ['TEA-EBR-250', 'English Breakfast Tea, 250 g', 'each', '6.40'],
  ['TEA-EGR-250', 'Earl Grey Tea, 250 g', 'each', '6.90'],
  ['TEA-ASM-250', 'Assam Loose Leaf Tea, 250 g', 'each', '7.20'],
  ['TEA-MNT-020', 'Peppermint Tea, 20 Bags', 'each', '3.10'],
  ['TEA-CHM-020', 'Chamomile Tea, 20 Bags', 'each', '3.10'],
  ['COF-ESP-500', 'Harbour Espresso Beans, 500 g', 'each', '11.50'],
  ['COF-FLT-500', 'Filter Roast Beans, 500 g', 'each', '10.80'],
  ['COF-DEC-250', 'Decaf Ground Coffee, 250 g', 'each', '6.95'],
  ['COC-DRK-300', 'Drinking Chocolate, 300 g', 'each', '5.60'],
  ['HON-HEA-340', 'Heather Honey, 340 g', 'each', '8.25'],
  ['HON-WLD-340', 'Wildflower Honey, 340 g', 'each', '6.75'],
  ['JAM-STR-340', 'Strawberry Jam, 340 g', 'each', '4.20'],
  ['JAM-DAM-340', 'Damson Jam, 340 g', 'each', '4.40'],
  ['MAR-SEV-340', 'Seville Orange Marmalade, 340 g', 'each', '4.50'],
  ['CHU-APL-280', 'Apple Chutney, 280 g', 'each', '3.95'],
  ['MUS-WHG-180', 'Wholegrain Mustard, 180 g', 'each', '3.30'],
  ['OIL-OLV-500', 'Extra Virgin Olive Oil, 500 ml', 'each', '12.40'],
  ['OIL-RAP-500', 'Cold Pressed Rapeseed Oil, 500 ml', 'each', '6.20'],
  ['VIN-CID-500', 'Cider Vinegar, 500 ml', 'each', '3.80'],
  ['VIN-BAL-250', 'Balsamic Vinegar, 250 ml', 'each', '7.90'],
  ['SAL-SEA-250', 'Flaked Sea Salt, 250 g', 'each', '3.25'],
  ['PEP-BLK-100', 'Black Peppercorns, 100 g', 'each', '3.60'],
  ['SPI-CUM-050', 'Ground Cumin, 50 g', 'each', '1.95'],
  ['SPI-CIN-050', 'Cinnamon Sticks, 50 g', 'each', '2.75'],
  ['SPI-PAP-075', 'Smoked Paprika, 75 g', 'each', '3.15'],
  ['PAS-SPA-500', 'Bronze Die Spaghetti, 500 g', 'each', '2.90'],
  ['PAS-PEN-500', 'Penne Rigate, 500 g', 'each', '2.70'],
  ['TOM-CHP-400', 'Chopped Tomatoes, 400 g', 'each', '1.40'],
  ['BEA-CAN-400', 'Cannellini Beans, 400 g', 'each', '1.30'],
  ['FIS-SAR-120', 'Sardines in Olive Oil, 120 g', 'each', '3.45'],
  ['FIS-ANC-050', 'Anchovy Fillets, 50 g', 'each', '3.85'],
  ['BIS-OAT-200', 'Oat Biscuits, 200 g', 'each', '2.60'],
  ['BIS-SHO-180', 'All Butter Shortbread, 180 g', 'each', '3.75'],
  ['CHO-DRK-100', 'Dark Chocolate 72 %, 100 g', 'each', '3.50'],
  ['CHO-MLK-100', 'Milk Chocolate with Sea Salt, 100 g', 'each', '3.50'],
  ['SOA-LAV-100', 'Lavender Soap Bar, 100 g', 'each', '4.10'],
  ['CAN-BEE-020', 'Beeswax Candle, 20 cm', 'each', '5.90'],
  ['MUG-STN-350', 'Stoneware Mug, 350 ml', 'each', '14.00'],
  ['BOW-ENM-016', 'Enamel Bowl, 16 cm', 'each', '9.50'],
  ['KNI-BRD-025', 'Bread Knife, 25 cm', 'each', '32.00'],
  ['BOA-OAK-040', 'Oak Chopping Board, 40 cm', 'each', '38.50'],
  ['TOW-LIN-001', 'Linen Tea Towel', 'each', '11.00'],
  ['APR-CAN-001', 'Canvas Apron', 'each', '29.00'],
  ['BAG-COT-001', 'Cotton Shopping Bag', 'each', '4.50'],
  ['JAR-KIL-1000', 'Preserving Jar, 1 l', 'each', '5.25'],
  ['FLO-WHT-BLK', 'Strong White Flour, loose', 'kg', '1.85'],
  ['FLO-RYE-BLK', 'Dark Rye Flour, loose', 'kg', '2.10'],
  ['OAT-ROL-BLK', 'Rolled Oats, loose', 'kg', '2.20'],
  ['RIC-BAS-BLK', 'Basmati Rice, loose', 'kg', '3.90'],
  ['LEN-GRN-BLK', 'Green Lentils, loose', 'kg', '3.40'],
  ['SUG-DEM-BLK', 'Demerara Sugar, loose', 'kg', '2.60'],
  ['NUT-ALM-BLK', 'Whole Almonds, loose', 'kg', '14.80'],
  ['RAI-SUL-BLK', 'Sultanas, loose', 'kg', '6.30'],
  ['CHE-CHD-CUT', 'Farmhouse Cheddar, from the block', 'kg', '19.50'],
  ['CHE-STI-CUT', 'Blue Stilton, from the wheel', 'kg', '22.00'],
  ['HAM-SMK-CUT', 'Smoked Ham, sliced', 'kg', '24.50'],
  ['COF-HOU-BLK', 'House Blend Coffee, ground to order', 'kg', '21.00'],
  ['RIB-LIN-ROL', 'Linen Ribbon, by the metre', 'm', '1.20'],
  ['CLO-OIL-ROL', 'Oilcloth, by the metre', 'm', '16.50'],
  ['TWI-JUT-ROL', 'Jute Twine, by the metre', 'm', '0.35'],
];

/** The teas and coffees, which somebody orders again. The first runs out at the stall. */
const orderedAgain = 8;

export const products = productList.map(([sku, name, unit, amount], index) => ({
  name,
  sku,
  barcode: barcodeOf(index),
  unit: units[unit],
  price: { amount, currency: 'GBP' },
  low_stock_at: index < orderedAgain ? '10' : null,
}));

/** An EAN-13 that begins with 200: such numbers are for use within one shop. */
function barcodeOf(index: number): string {
  const digits = `2000000${String(10_000 + 37 * index)}`;
  const sum = [...digits].reduce((total, digit, at) => total + Number(digit) * (at % 2 ? 3 : 1), 0);
  return `${digits}${(10 - (sum % 10)) % 10}`;
}

const people = [
  'Ada Okafor, Ben Whitcombe, Carys Pritchard, Daniel Osei, Elif Demir, Fergus Munro',
  'Grace Adeyemi, Hamish Blair, Imogen Fairley, Jamal Rahman, Katya Petrova, Liam O’Donnell',
  'Maya Krishnan, Nils Bergström, Orla Keane, Priya Nair, Quentin Marsh, Rosa Delgado',
  'Samir Haddad, Tegan Rowe, Uma Shah, Victor Lindqvist, Wen Zhao, Ximena Torres',
  'Yusuf Aydin, Zoë Hartley, Alasdair Reid, Bronwen Hughes, Chidi Eze, Dilys Morgan',
  'Eoin Brennan, Freya Holm, Gareth Vaughan, Hana Sato, Isla Kerr, Joaquín Ruiz',
  'Kenji Mori, Lowri Bevan, Moira Sinclair, Nadia Benali',
]
  .join(', ')
  .split(', ');

export const customers = people.map((name, index) => ({
  name,
  email: `${asciiOf(name)}@example.com`,
  phone: `+447700900${String(100 + index)}`,
  ...(index % 6 === 0 ? { note: 'Collects on Saturdays.' } : {}),
  metadata: { loyalty: index % 4 === 0 ? 'gold' : 'standard' },
}));

function asciiOf(name: string): string {
  const plain = name.normalize('NFD').replaceAll(/[^A-Za-z ]/g, '');
  return plain.toLowerCase().replaceAll(' ', '.');
}

/** A product at a location, by their places in the lists. */
interface Place {
  readonly product: number;
  readonly location: number;
  readonly seed: number;
}

/** Three pairs in four, because not every location has every product. */
const places: readonly Place[] = productList.flatMap((_, product) =>
  locations.flatMap((__, location) =>
    (product + location) % 4 === 3 ? [] : [{ product, location, seed: 7 * product + 3 * location }],
  ),
);

/** What was there when the shop began. */
export const opening = places.map(({ product, location, seed }) => ({
  product,
  location,
  target_quantity: quantity(product, openingOf(seed)),
  reason: 'stock_count' as const,
  note: 'Opening count',
  reference: 'COUNT-1',
}));

/** Of the locations at these places of the list. */
interface Transfer {
  readonly from?: number;
  readonly to?: number;
  readonly reason: 'damage' | 'receipt' | 'sale' | 'transfer';
  readonly shortage?: 'record';
  readonly note?: string;
  readonly reference?: string;
  readonly lines: readonly { readonly product: number; readonly quantity: string }[];
}

const suppliers = 12;
const sales = 9;

/** What has moved since, in this order. */
export const transfers: readonly (readonly Transfer[])[] = [
  perLocation(suppliers, ({ product }) => product).map(([location, supplier, some]) => ({
    to: location,
    reason: 'receipt',
    note: 'Delivery',
    reference: `PO-${10_400 + supplier}`,
    lines: some.map(({ product }) => ({ product, quantity: quantity(product, 24) })),
  })),
  perLocation(sales, ({ seed }) => seed).map(([location, sale, some]) => ({
    from: location,
    reason: 'sale',
    reference: `TILL-${location + 1}-${412 + sale}`,
    lines: some.map(({ product }) => ({ product, quantity: quantity(product, 4 + sale) })),
  })),
  perLocation(1, () => 0).map(([location, , some]) => ({
    from: location,
    reason: 'damage',
    note: 'Damaged in the back room',
    lines: some
      .filter(({ seed }) => seed % 5 === 0)
      .map(({ product }) => ({ product, quantity: quantity(product, 2) })),
  })),
  [
    {
      from: 0,
      to: 1,
      reason: 'transfer',
      note: 'For the weekend',
      reference: 'VAN-31',
      lines: [0, 1, 2].map((product) => ({ product, quantity: quantity(product, 3) })),
    },
    {
      from: 1,
      reason: 'sale',
      shortage: 'record',
      note: 'The till was offline',
      reference: 'TILL-2-430',
      lines: [{ product: 0, quantity: quantity(0, 200) }],
    },
  ],
];

/** A shelf that was counted, and by somebody else once more: nothing was different then. */
export const counts = ['COUNT-2', 'COUNT-3'].map((reference) => ({
  location: 0,
  reference,
  note: 'Front shelf',
  lines: [0, 1, 2].map((product) => ({ product, counted: quantity(product, 30) })),
}));

/** Orders of the web shop, and what became of them: nothing yet, sent, cancelled. */
export const orders = [
  orderOf('WEB-2201', [0, 1], undefined),
  orderOf('WEB-2202', [2], 'inventory.fulfil'),
  orderOf('WEB-2203', [0], 'inventory.release'),
];

function orderOf(
  reference: string,
  ordered: readonly number[],
  end: 'inventory.fulfil' | 'inventory.release' | undefined,
) {
  const lines = ordered.map((product) => ({ product, quantity: quantity(product, 4) }));
  return { reference, location: 0, lines, end };
}

/** The places of each location, in so many parts. */
function perLocation(parts: number, partOf: (place: Place) => number) {
  return locations.flatMap((_, location) =>
    Array.from({ length: parts }, (__, part) => {
      const some = places.filter(
        (place) => place.location === location && partOf(place) % parts === part,
      );
      return [location, part, some] as const;
    }).filter(([, , some]) => some.length > 0),
  );
}

function openingOf(seed: number): number {
  return 12 + (seed % 40);
}

/** A number of pieces, or an amount with decimals when the product is weighed or measured. */
function quantity(product: number, count: number): string {
  const unit = productList[product]?.[2];
  if (unit === 'kg') return `${Math.floor(count / 4)}.${125 + 50 * (count % 4)}`;
  if (unit === 'm') return `${count}.${25 + (count % 4)}`;
  return String(count);
}
