// The console as people use it: the real service, a real browser, and somebody who is signed in.

import type { Browser, BrowserContext, Page } from 'playwright-core';
import { expect } from 'vitest';
import { consolePages } from '../../src/http/console-pages.ts';
import { created } from './again.ts';
import type { Api } from './api.ts';
import { startBrowser } from './browser.ts';
import { type Environment, startEnvironment } from './environment.ts';

export const password = 'correct horse battery';

export type Role = 'owner' | 'keeper' | 'cashier' | 'viewer';

interface InviteOptions {
  readonly name?: string;
  readonly role?: Role;
  /** Otherwise all of them. */
  readonly locations?: readonly string[];
}

export interface Tab {
  readonly page: Page;
  /** The person's ID. */
  readonly id: string;
}

let people = 0;

/** A merchant, with a program that arranges and checks over the API. */
export class Shop {
  /** A program with every right. */
  readonly api: Api;
  readonly #console: Console;

  constructor(api: Api, console: Console) {
    this.api = api;
    this.#console = console;
  }

  async location(name = 'Shop'): Promise<string> {
    const code = `L${Math.random().toString(36).slice(2, 8).toUpperCase()}`;
    return (await created(this.api, '/locations', { name, code })).data.id;
  }

  /** A product, and how much of it is at a location. */
  async product(form: object, at?: string, quantity = '0'): Promise<string> {
    const { id } = (await created(this.api, '/products', form)).data;
    if (at !== undefined && quantity !== '0') await this.setLevel(id, at, quantity);
    return id;
  }

  async setLevel(product: string, location: string, quantity: string): Promise<void> {
    await created(this.api, '/inventory/adjustments', {
      product_id: product,
      location_id: location,
      target_quantity: quantity,
      reason: 'stock_count',
    });
  }

  async level(product: string, location: string): Promise<string> {
    const { body } = await this.api.get(`/products/${product}/levels`);
    const found = body.data.find((one: { location_id: string }) => one.location_id === location);
    return found?.quantity ?? '0';
  }

  /** Every movement of a product, the newest first. */
  async movements(product: string) {
    return (await this.api.get(`/inventory/movements?product_id=${product}`)).body.data;
  }

  async invite({ name, role = 'owner', locations }: InviteOptions = {}) {
    people += 1;
    const { status, body } = await this.api.post('/people', {
      name: name ?? `Ada ${people}`,
      role,
      ...(locations === undefined ? { all_locations: true } : { location_ids: locations }),
    });
    expect([status, body.error]).toEqual([201, undefined]);
    const { id, invitation } = body.data as { id: string; invitation: string };
    return { id, name: body.data.name as string, invitation };
  }

  /** Somebody new, who took the invitation and is at the first screen. */
  async enter(options: InviteOptions = {}): Promise<Tab> {
    const { id, invitation } = await this.invite(options);
    const page = await this.#console.open(`/invitation#${invitation}`);
    await page.getByLabel('A password').fill(password);
    await page.getByRole('button', { name: 'Set the password and sign in' }).click();
    await page.getByRole('heading', { level: 1 }).filter({ hasNotText: 'Welcome' }).waitFor();
    return { page, id };
  }
}

export class Console {
  readonly service: Environment;
  readonly #browser: Browser;
  readonly #contexts: BrowserContext[] = [];
  /** What browsers complained of, such as something that the policy forbids. */
  readonly complaints: string[] = [];

  private constructor(service: Environment, browser: Browser) {
    this.service = service;
    this.#browser = browser;
  }

  static async start(): Promise<Console> {
    const [service, browser] = await Promise.all([
      startEnvironment({ pages: consolePages() }),
      startBrowser(),
    ]);
    return new Console(service, browser);
  }

  async shop(): Promise<Shop> {
    const merchant = await this.service.given.merchant();
    const { token } = await this.service.given.credential(merchant);
    return new Shop(this.service.api.as(token), this);
  }

  /** A browser of its own, with an empty storage. */
  async open(path = '/'): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport: { width: 1400, height: 900 },
      locale: 'en-GB',
      timezoneId: 'Europe/Berlin',
      reducedMotion: 'reduce',
    });
    this.#contexts.push(context);
    context.setDefaultTimeout(20_000);
    context.on('page', (page) => {
      page.on('pageerror', ({ message }) => this.complaints.push(message));
      page.on('console', (message) => {
        const isOfNetwork = message.text().startsWith('Failed to load resource');
        if (message.type() === 'error' && !isOfNetwork) this.complaints.push(message.text());
      });
    });
    const page = await context.newPage();
    await page.goto(`${this.service.api.origin}/console${path}`);
    return page;
  }

  /** Another tab of the same person. */
  async another({ page }: Tab, path = '/'): Promise<Page> {
    const tab = await page.context().newPage();
    await tab.goto(`${this.service.api.origin}/console${path}`);
    return tab;
  }

  /** Complaints of browsers fail the test that ends here. */
  async stop(): Promise<void> {
    for (const context of this.#contexts) await context.close();
    await this.#browser.close();
    await this.service.stop();
    expect(this.complaints).toEqual([]);
  }
}
