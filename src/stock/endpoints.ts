// The endpoints that answer what a shop asks of its stock.

import type { Endpoint } from '../contract/endpoint.ts';
import { dailyEndpoint } from './daily.ts';
import { stockEndpoint } from './list.ts';

export const stockEndpoints: readonly Endpoint[] = [dailyEndpoint, stockEndpoint];
