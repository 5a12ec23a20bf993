// Every change of stock, the newest first, with who and why.

import { Group, Select, Switch, TextInput } from '@mantine/core';
import type { InventoryMovementsListQuery } from '@tallybook/client';
import { LocationSelect } from '../../parts/location-select.tsx';
import { ProductSearch } from '../../parts/product-search.tsx';
import { Screen } from '../../parts/screen.tsx';
import { type Address, useAddress } from '../../service/address.ts';
import { useMay } from '../../service/me.tsx';
import { texts } from '../../texts.ts';
import { MovementList } from './movement-list.tsx';

const words = texts.movements;

type Reason = NonNullable<InventoryMovementsListQuery['reason']>;

const reasons = Object.entries(texts.reasons).map(([value, label]) => ({ value, label }));
const isReason = (text: string | undefined): text is Reason =>
  text !== undefined && text in texts.reasons;

export function MovementsScreen() {
  const address = useAddress();
  const mayFollow = useMay('events.read');
  const isLive = mayFollow && address.get('live') !== 'no';
  const query = queryOf(address);
  const live = mayFollow && (
    <Switch
      label={words.live}
      checked={isLive}
      onChange={(event) => address.set('live', event.currentTarget.checked ? null : 'no')}
    />
  );
  return (
    <Screen title={words.title} hint={words.hint} actions={live}>
      <Filters address={address} />
      <MovementList key={JSON.stringify(query)} query={query} isLive={isLive} />
    </Screen>
  );
}

function Filters({ address }: { readonly address: Address }) {
  const mayReadProducts = useMay('products.read');
  const reason = address.get('reason') ?? undefined;
  return (
    <Group align="flex-end" gap="sm">
      <LocationSelect
        none={texts.allLocations}
        value={address.get('location')}
        onChange={(location) => address.set('location', location)}
        w={{ base: '100%', xs: 200 }}
      />
      {mayReadProducts && (
        <ProductSearch
          label={words.product}
          placeholder={words.anyProduct}
          value={address.get('product') ?? undefined}
          onChange={(product) => address.set('product', product)}
          flex="1 1 220px"
        />
      )}
      <Select
        label={words.reason}
        placeholder={words.anyReason}
        data={reasons}
        value={isReason(reason) ? reason : null}
        clearable
        clearButtonProps={{ 'aria-label': texts.clear }}
        onChange={(chosen) => address.set('reason', chosen)}
        w={{ base: '100%', xs: 200 }}
      />
      {(['from', 'to'] as const).map((name) => (
        <TextInput
          key={name}
          type="date"
          label={words[name]}
          value={address.get(name) ?? ''}
          onChange={(event) => address.set(name, event.currentTarget.value || null)}
          flex={{ base: '1 1 130px', xs: '0 0 150px' }}
        />
      ))}
    </Group>
  );
}

function queryOf(address: Address): InventoryMovementsListQuery {
  const reason = address.get('reason') ?? undefined;
  const recorded_after = beginningOf(address.get('from') ?? undefined, 0);
  const recorded_before = beginningOf(address.get('to') ?? undefined, 1);
  const location_id = address.get('location') ?? undefined;
  const product_id = address.get('product') ?? undefined;
  return {
    ...(location_id === undefined ? {} : { location_id }),
    ...(product_id === undefined ? {} : { product_id }),
    ...(isReason(reason) ? { reason } : {}),
    ...(recorded_after === undefined ? {} : { recorded_after }),
    ...(recorded_before === undefined ? {} : { recorded_before }),
  };
}

/** When a day begins by the clock of the reader, or one some days later. */
function beginningOf(day: string | undefined, later: number): string | undefined {
  const moment = new Date(`${day}T00:00`);
  if (day === undefined || Number.isNaN(moment.getTime())) return undefined;
  moment.setDate(moment.getDate() + later);
  return moment.toISOString();
}
