// What the operator lets webhooks call beside public addresses: a host by its name, an address or a
// range of addresses, each for one port or for all.

export type AllowedDestination = AllowedName | AllowedRange;

interface AllowedName {
  readonly kind: 'name';
  /** As URLs have it: lower case, in ASCII, without a dot at its end. */
  readonly name: string;
  /** Undefined: all. */
  readonly port: number | undefined;
}

interface AllowedRange {
  readonly kind: 'range';
  readonly address: string;
  readonly prefix: number;
  readonly port: number | undefined;
}

const range = /^([0-9a-f.:]+)\/([0-9]{1,3})$/i;
const address = /^(?:\[([0-9a-f.]*:[0-9a-f.:]*)\]|([0-9.]+))(?::([0-9]{1,5}))?$/i;
const name = /^([\p{L}\p{N}\p{M}_-]+(?:\.[\p{L}\p{N}\p{M}_-]+)*)\.?(?::([0-9]{1,5}))?$/u;

/** Undefined when it is none. */
export function readDestination(text: string): AllowedDestination | undefined {
  if (lengthOf(text) !== undefined) return rangeOf(text, undefined, undefined);
  const [, base, prefix] = range.exec(text) ?? [];
  if (base !== undefined) return rangeOf(base, prefix, undefined);
  const [, version6, version4, port] = address.exec(text) ?? [];
  const literal = version6 ?? version4;
  if (literal !== undefined) return rangeOf(literal, undefined, port);
  return nameOf(text);
}

function rangeOf(
  base: string,
  prefixText: string | undefined,
  portText: string | undefined,
): AllowedRange | undefined {
  const length = lengthOf(base);
  if (length === undefined) return undefined;
  const prefix = prefixText === undefined ? length : Number(prefixText);
  const port = portOf(portText);
  if (prefix > length || Number.isNaN(port)) return undefined;
  return { kind: 'range', address: base, prefix, port };
}

/** Of an address in its usual form, in bits. */
function lengthOf(text: string): number | undefined {
  const plain = `http://${text}`;
  if (/^[0-9]+(?:\.[0-9]+){3}$/.test(text)) {
    return URL.canParse(plain) && new URL(plain).hostname === text ? 32 : undefined;
  }
  return /^[0-9a-f.]*:[0-9a-f.:]*$/i.test(text) && URL.canParse(`http://[${text}]`)
    ? 128
    : undefined;
}

function nameOf(text: string): AllowedName | undefined {
  const [, host = '', portText] = name.exec(text) ?? [];
  const port = portOf(portText);
  const url = `https://${host}`;
  if (!URL.canParse(url) || Number.isNaN(port)) return undefined;
  const { hostname } = new URL(url);
  // Another spelling of an address, such as 0x7f.1, is more likely a mistake than a name.
  return lengthOf(hostname) === undefined ? { kind: 'name', name: hostname, port } : undefined;
}

/** NaN: no port. */
function portOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const port = Number(text);
  return port >= 1 && port <= 65_535 ? port : Number.NaN;
}
