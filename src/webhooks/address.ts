// Where webhooks may connect to: public addresses over HTTPS, and what the operator allows. A URL
// is judged when a webhook is made, so that a mistake is told at once. What protects is that each
// address connected to is judged, because a name may mean another one a moment later.

import { isIP } from 'node:net';
import ipaddr, { type IPv4, type IPv6 } from 'ipaddr.js';
import type { AllowedDestination } from '../core/destination.ts';
import type { Detail } from '../core/problem.ts';

/** What a connection is for: the members of a URL. */
export interface ConnectionTarget {
  /** `https:` or `http:`. */
  readonly protocol: string;
  /** A name, or an address with or without brackets. */
  readonly hostname: string;
  /** Empty: that of the protocol. */
  readonly port: string;
}

/** Everything else is not routed, or belongs to a protocol that carries IPv4 addresses. */
const publicVersion6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Public by its number. In Azure it answers to each machine, with what only that one may know. */
const azureHost = '168.63.129.16';

/** A URL parser would take out, or replace, what these forbid: nobody could see what is meant. */
const webUrl = /^https?:\/\/[^/?#\\]+[^\\]*$/i;
const invisible = /[\s\p{C}]/u;

const publicOnly = 'must name a public address, or what the operator of this service allows';

export class Destinations {
  readonly #allowed: readonly AllowedDestination[];

  constructor(allowed: readonly AllowedDestination[]) {
    this.#allowed = allowed;
  }

  /** Why a URL cannot be that of a webhook, as far as it can be told without asking for names. */
  urlFault(text: string): Detail | undefined {
    if (!webUrl.test(text) || invisible.test(text) || !URL.canParse(text)) {
      return fault('invalid_format', 'must be a URL such as https://example.com/tallybook');
    }
    const url = new URL(text);
    if (`${url.username}${url.password}` !== '') {
      return fault('value_not_allowed', 'must not hold a user or a password');
    }
    if (url.port === '0') return fault('value_not_allowed', 'must not name port 0');
    const address = literalOf(url);
    if (address !== undefined) {
      if (this.permits(url, address)) return undefined;
      if (!isPublic(address)) return fault('value_not_allowed', publicOnly);
    } else if (this.#mayAllow(url)) {
      return undefined;
    } else if (isLoopbackName(nameOf(url))) {
      return fault('value_not_allowed', publicOnly);
    }
    if (url.protocol === 'https:') return undefined;
    return fault('value_not_allowed', 'must begin with https://');
  }

  /** Whether a connection for this target may be made to this address. */
  permits(target: ConnectionTarget, address: string): boolean {
    const ip = addressOf(address);
    if (ip === undefined) return false;
    if (target.protocol === 'https:' && isPublic(address)) return true;
    return this.#for(target).some((allowed) =>
      allowed.kind === 'name' ? allowed.name === nameOf(target) : isWithin(ip, allowed),
    );
  }

  /** Whether the operator allows a name, or ranges that it may turn out to be in. */
  allowance(hostname: string): 'named' | 'perhaps' | 'none' {
    const name = nameOf({ hostname });
    const isNamed = this.#allowed.some((one) => one.kind === 'name' && one.name === name);
    if (isNamed) return 'named';
    return this.#allowed.some(({ kind }) => kind === 'range') ? 'perhaps' : 'none';
  }

  /** A name may turn out to be an address of any range. */
  #mayAllow(target: ConnectionTarget): boolean {
    return this.#for(target).some(
      (allowed) => allowed.kind === 'range' || allowed.name === nameOf(target),
    );
  }

  #for(target: ConnectionTarget): AllowedDestination[] {
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
    return this.#allowed.filter((allowed) => (allowed.port ?? port) === port);
  }
}

/** The address that a target names itself: a URL has turned each spelling into the usual one. */
export function literalOf({ hostname }: ConnectionTarget): string | undefined {
  const host = hostname.replace(/^\[(.*)\]$/, '$1');
  return isIP(host) === 0 ? undefined : host;
}

function nameOf({ hostname }: Pick<ConnectionTarget, 'hostname'>): string {
  return hostname.toLowerCase().replace(/\.$/, '');
}

/** RFC 6761: these are this machine. */
function isLoopbackName(name: string): boolean {
  return name === 'localhost' || name.endsWith('.localhost');
}

/**
 * An IPv4-mapped address is the IPv4 address: the system connects to that. The library would take
 * the outdated form ::8.8.8.8 for one as well, so it is given what a URL makes of it. Undefined for
 * an address with a zone: it is of this machine's network.
 */
function addressOf(text: string): IPv4 | IPv6 | undefined {
  const family = isIP(text);
  if (family === 4) return ipaddr.IPv4.parse(text);
  const url = `http://[${text}]`;
  if (family === 0 || !URL.canParse(url)) return undefined;
  return ipaddr.process(new URL(url).hostname.slice(1, -1));
}

function isPublic(text: string): boolean {
  const ip = addressOf(text);
  if (ip?.range() !== 'unicast' || ip.toString() === azureHost) return false;
  return ip.kind() === 'ipv4' || ip.match(publicVersion6);
}

function isWithin(ip: IPv4 | IPv6, range: { address: string; prefix: number }): boolean {
  const base = addressOf(range.address);
  return ip.kind() === base?.kind() && ip.match(base, range.prefix);
}

function fault(code: Detail['code'], message: string): Detail {
  return { field: 'url', code, message };
}
