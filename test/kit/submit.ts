// Adjustments as HTTP hands them over. Over HTTP they would arrive one by one; what must happen at
// the same moment, or in a number that connections would slow down, comes in here.

import { endpoints, type Service } from '../../src/app.ts';
import type { AnyWriteEndpoint } from '../../src/contract/endpoint.ts';
import { mintId } from '../../src/core/id.ts';
import { limits } from '../../src/core/limits.ts';
import type { Principal } from '../../src/core/principal.ts';
import { writeOf } from '../../src/operations/write.ts';
import { newKey } from './api.ts';

const endpoint = endpoints.find(({ contract }) => contract.name === 'inventory.adjust');

export function submitAdjustment({ dispatcher }: Service, principal: Principal, body: object) {
  const write = writeOf(endpoint as AnyWriteEndpoint, principal, {
    id: '',
    externalId: undefined,
    body: body as Record<string, string>,
    key: newKey(),
    ifMatch: undefined,
    requestId: mintId('req_'),
    deadline: performance.now() + limits.requestDeadline,
  });
  return dispatcher.perform(write);
}
