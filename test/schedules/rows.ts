// What the small store keeps: operations by key, registers, and effects; and the two writes that
// are made of them. One changes a register it has to lock, and refuses to change it to what it is;
// the other needs to know nothing first.

import type { TObject, TString } from 'typebox';
import type { BodyOf, WriteContract } from '../../src/contract/contract.ts';
import type {
  AnyWriteEndpoint,
  Decision,
  Operation,
  Write,
  WriteEndpoint,
} from '../../src/contract/endpoint.ts';
import type { OperationType } from '../../src/contract/resource.ts';
import type { JournalEnd } from '../../src/journal/store.ts';

export interface RegisterRecord {
  readonly merchant_id: string;
  readonly register: string;
  readonly value: string;
  readonly sequence: number;
}

export interface EffectRecord {
  readonly merchant_id: string;
  readonly id: string;
  readonly operation_id: string;
  /** Null: it changed none. */
  readonly register: string | null;
  readonly sequence: number;
  readonly before: string;
  readonly after: string;
}

/** An operation as it is bound: bytes are written in hexadecimal. */
export interface OperationRecord extends Omit<Operation, 'key_hash' | 'fingerprint'> {
  readonly key_hash: string;
  readonly fingerprint: string;
}

/** An effect as it is shown: with the register as it is now. */
export interface Shown {
  readonly id: string;
  readonly operation_id: string;
  readonly now: number;
}

const bytes = (text: string) => Buffer.from(text.slice(2), 'hex');

export function rowOf(record: OperationRecord): Operation {
  return { ...record, fingerprint: bytes(record.fingerprint), key_hash: bytes(record.key_hash) };
}

type Key = Pick<Operation, 'merchant_id' | 'credential_id' | 'type'>;

export function keyOf(one: Key & { readonly key_hash: Buffer | string }): string {
  const hash = typeof one.key_hash === 'string' ? bytes(one.key_hash) : one.key_hash;
  return `${one.merchant_id} ${one.credential_id} ${one.type} ${hash.toString('base64')}`;
}

export class Rows {
  /** By key. */
  readonly operations = new Map<string, Operation>();
  readonly registers = new Map<string, RegisterRecord>();
  readonly effects: EffectRecord[] = [];

  add(saved: Rows): void {
    for (const [key, one] of saved.operations) this.operations.set(key, one);
    for (const [name, one] of saved.registers) this.registers.set(name, one);
    this.effects.push(...saved.effects);
  }

  register({ merchant_id, register }: Pick<RegisterRecord, 'merchant_id' | 'register'>) {
    const never = { merchant_id, register, value: '0', sequence: 0 };
    return this.registers.get(`${merchant_id} ${register}`) ?? never;
  }

  effect(id: string): Shown | undefined {
    const effect = this.effects.find((one) => one.id === id);
    if (effect === undefined) return undefined;
    const { merchant_id, operation_id, register, sequence } = effect;
    const now = register === null ? sequence : this.register({ merchant_id, register }).sequence;
    return { id, operation_id, now };
  }

  /** Those of a merchant, in order. */
  positions(merchant: string): number[] {
    const own = [...this.operations.values()].filter((one) => one.merchant_id === merchant);
    return own.flatMap(({ position }) => position ?? []).sort((a, b) => a - b);
  }

  journalEnd(merchant: string): JournalEnd {
    const last = this.positions(merchant).at(-1) ?? 0;
    const moment = new Date(last).toISOString();
    return { merchant_id: merchant, id: `journal of ${merchant}`, last, moment };
  }

  /** What the keys that a look-up names are bound to. */
  boundTo(keys: unknown): Operation[] {
    const asked = JSON.parse(String(keys)) as OperationRecord[];
    return asked.flatMap((one) => this.operations.get(keyOf(one)) ?? []);
  }
}

interface SetRegister extends WriteContract {
  readonly body: TObject<{ register: TString; target: TString }>;
}

export type Body = BodyOf<SetRegister>;

/** As much of a contract as the write path reads: its changes have positions. */
const contractOf = (name: OperationType) => {
  const resource = { events: { types: { [name]: name } } };
  return { name, method: 'POST', path: '', resource } as unknown as SetRegister;
};

type Registers = Map<string, Pick<RegisterRecord, 'register' | 'value' | 'sequence'>>;
type Change = Omit<EffectRecord, 'merchant_id'>;

const shared = {
  find: (_merchant: string, ids: readonly string[]) => ({ name: 'find', text: '', values: [ids] }),
  present: (row: Shown) => row,
};

const setting: WriteEndpoint<SetRegister, Registers, Shown, Change> = {
  ...shared,
  contract: contractOf('inventory.adjust'),
  load: (writes) => {
    const names = new Set(writes.map(({ body }) => body.register));
    const records = [...names].map((register) => ({ register }));
    return {
      statements: [{ name: 'lock_registers', text: '', records }],
      state: ([rows = []]) => new Map((rows as RegisterRecord[]).map((one) => [one.register, one])),
    };
  },
  decide: (registers, { body, operationId }): Decision<Shown, Change> => {
    const { register, target } = body;
    const { value, sequence } = registers.get(register) ?? { value: '0', sequence: 0 };
    if (value === target) return { kind: 'rejected', code: 'inventory_no_change', details: [] };
    registers.set(register, { register, value: target, sequence: sequence + 1 });
    return succeeded(operationId, {
      register,
      sequence: sequence + 1,
      before: value,
      after: target,
    });
  },
  save: (changes) => [
    {
      name: 'save_registers',
      text: '',
      records: [...new Map(changes.map((one) => [one.register, one])).values()].map(
        ({ register, sequence, after }) => ({ register, sequence, value: after }),
      ),
    },
    { name: 'save_effects', text: '', records: changes },
  ],
};

const making: WriteEndpoint<SetRegister, undefined, Shown, Change> = {
  ...shared,
  contract: contractOf('customers.create'),
  load: () => ({ statements: [], state: () => undefined }),
  decide: (_state: undefined, { operationId }: Write<Body>) =>
    succeeded(operationId, { register: null, sequence: 0, before: '', after: '' }),
  save: (changes) => [{ name: 'save_effects', text: '', records: changes }],
};

function succeeded(
  operationId: string,
  change: Omit<Change, 'id' | 'operation_id'>,
): Decision<Shown, Change> {
  const id = `of ${operationId}`;
  const row = { id, operation_id: operationId, now: change.sequence };
  const changes = [{ id, operation_id: operationId, ...change }];
  return { kind: 'succeeded', row, changes, movements: 0 };
}

export const writes: Readonly<Partial<Record<OperationType, AnyWriteEndpoint>>> = {
  'inventory.adjust': setting as unknown as AnyWriteEndpoint,
  'customers.create': making as unknown as AnyWriteEndpoint,
};
