// The endpoints of locations. A PATCH locks its location fully, so that it waits for adjustments
// that were judged on the status as it was.

import { recordEndpoints } from '../records/endpoints.ts';
import * as contract from './contract.ts';

export const locationEndpoints = recordEndpoints(contract.locations, contract, {
  isGranted: true,
  isLockedFully: true,
});
