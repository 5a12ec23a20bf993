// The endpoints of customers. One whose personal data was erased is 410, and never changes again.

import type { AnyWriteEndpoint } from '../contract/endpoint.ts';
import { recordCommand, recordEndpoints } from '../records/endpoints.ts';
import * as contract from './contract.ts';

export const customerEndpoints = recordEndpoints(contract.customers, contract, {
  refusal: ({ erased_at: at }) => (at === null ? undefined : 'resource_erased'),
});

/** Wipes what is personal, for good. Once more changes nothing. */
const erase = recordCommand(contract.customers, contract.erase, {
  patch: ({ erased_at: at }, time) =>
    at === null
      ? {
          name: '',
          email: '',
          phone: null,
          external_id: null,
          note: null,
          metadata: null,
          erased_at: time,
        }
      : {},
  present: ({ id, erased_at }) => ({ id, erased_at }),
});

/** What only the operator does, by command. */
export const customerCommands: readonly AnyWriteEndpoint[] = [erase];
