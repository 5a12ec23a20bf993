// Arithmetic of quantities, which are decimal texts: 0.1 and 0.2 are 0.3 here.

function parse(text: string): { readonly units: bigint; readonly scale: number } {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+))?$/.exec(text) ?? [];
  if (sign === undefined) throw new TypeError(`${JSON.stringify(text)} is not a quantity.`);
  return { units: BigInt(`${sign}${whole}${fraction}`), scale: fraction.length };
}

/** Both as numbers of the same small unit. */
function aligned(a: string, b: string): readonly [bigint, bigint, number] {
  const [one, other] = [parse(a), parse(b)];
  const scale = Math.max(one.scale, other.scale);
  const raised = ({ units, scale: own }: typeof one) => units * 10n ** BigInt(scale - own);
  return [raised(one), raised(other), scale];
}

/** As the service writes it: no zeros at the end, and no point without digits behind it. */
function format(units: bigint, scale: number): string {
  const sign = units < 0n ? '-' : '';
  const digits = String(units < 0n ? -units : units).padStart(scale + 1, '0');
  const fraction = digits.slice(digits.length - scale).replace(/0+$/, '');
  const whole = digits.slice(0, digits.length - scale);
  return sign + whole + (scale > 0 && fraction !== '' ? `.${fraction}` : '');
}

export const Quantity = {
  add(a: string, b: string): string {
    const [one, other, scale] = aligned(a, b);
    return format(one + other, scale);
  },

  subtract(a: string, b: string): string {
    const [one, other, scale] = aligned(a, b);
    return format(one - other, scale);
  },

  /** Below 0, 0 or above: for `sort`. `4` and `4.0` are equal. */
  compare(a: string, b: string): -1 | 0 | 1 {
    const [one, other] = aligned(a, b);
    if (one === other) return 0;
    return one < other ? -1 : 1;
  },
} as const;
