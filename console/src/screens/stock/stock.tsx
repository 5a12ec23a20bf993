// The stock of a location: search, the rows in sight, and numbers that can be changed where they
// stand.

import { Button, Checkbox, Group, Select, TextInput } from '@mantine/core';
import { useDebouncedValue, useDisclosure } from '@mantine/hooks';
import { lazy, Suspense, useState } from 'react';
import { AsOfPicker } from '../../parts/as-of-picker.tsx';
import { Failure } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { LocationSelect } from '../../parts/location-select.tsx';
import { useQuantityScans } from '../../parts/quantity-scans.ts';
import { Screen } from '../../parts/screen.tsx';
import { useTypeAnywhere } from '../../parts/type-anywhere.ts';
import { useAddress } from '../../service/address.ts';
import { useAsOf } from '../../service/as-of.ts';
import { useMay } from '../../service/me.tsx';
import { usePlace } from '../../service/place.ts';
import { texts } from '../../texts.ts';
import { StockRows } from './rows.tsx';
import { type StockQuery, useStock } from './use-stock.ts';

const words = texts.stock;

/** Its form is not needed to see the stock. */
const NewProduct = lazy(async () => ({
  default: (await import('../product/new-product.tsx')).NewProduct,
}));
const sorts = Object.entries(words.sorts).map(([value, label]) => ({ value, label }));

export function StockScreen() {
  const [place, choosePlace] = usePlace();
  const [q, setQ] = useState('');
  const typeAnywhere = useTypeAnywhere();
  useQuantityScans((code) => {
    setQ(code);
    typeAnywhere.current?.focus();
    setTimeout(() => typeAnywhere.current?.select());
  });
  const [settled] = useDebouncedValue(q.trim(), 200);
  const { sort, isLow, isNow, asOf } = useShown();
  return (
    <Screen
      title={words.title}
      hint={isNow ? words.hint : words.hintOfMoment}
      actions={<Actions />}
    >
      <Group align="flex-end" gap="sm">
        <LocationSelect
          value={place ?? null}
          onChange={choosePlace}
          w={{ base: '100%', xs: 210 }}
        />
        <TextInput
          ref={typeAnywhere}
          type="search"
          label={words.search}
          value={q}
          onChange={(event) => setQ(event.currentTarget.value)}
          // The next scan types over it.
          onKeyDown={({ key, currentTarget }) => key === 'Enter' && currentTarget.select()}
          flex="1 1 220px"
        />
        <Shown />
      </Group>
      {place === null && words.noLocation}
      {typeof place === 'string' && (
        <Found
          query={{
            location_id: place,
            sort,
            ...asOf,
            ...(settled === '' ? {} : { q: settled }),
            ...(isLow ? { low_stock: 'true' as const } : {}),
          }}
        />
      )}
    </Screen>
  );
}

/** What is shown, and in which order, as the address says. */
function useShown() {
  const address = useAddress();
  const { moment, query: asOf } = useAsOf();
  const isNow = moment === undefined;
  const sort = (address.get('sort') ?? 'name') as NonNullable<StockQuery['sort']>;
  return { address, asOf, isNow, sort, isLow: isNow && address.get('low') === 'true' };
}

function Shown() {
  const { address, isNow, sort, isLow } = useShown();
  return (
    <>
      <Select
        label={words.sort}
        data={sorts.filter(({ value }) => value !== 'quantity' || isNow)}
        value={sort}
        allowDeselect={false}
        onChange={(value) => address.set('sort', value === 'name' ? null : value)}
        w={140}
      />
      {isNow && (
        <Checkbox
          label={words.low}
          checked={isLow}
          mb={8}
          onChange={(event) => address.set('low', event.currentTarget.checked ? 'true' : null)}
        />
      )}
    </>
  );
}

function Actions() {
  const { moment } = useAsOf();
  const mayMake = useMay('products.write') && moment === undefined;
  const [isOpen, { open, close }] = useDisclosure();
  return (
    <>
      <AsOfPicker />
      {mayMake && <Button onClick={open}>{texts.product.create}</Button>}
      {isOpen && (
        <Suspense fallback={null}>
          <NewProduct onClose={close} />
        </Suspense>
      )}
    </>
  );
}

function Found({ query }: { readonly query: StockQuery }) {
  const { rows, error, refetch, isPending, more } = useStock(query);
  if (isPending) return <Loading />;
  return (
    <>
      {error !== null && <Failure error={error} onAgain={refetch} />}
      {error === null && rows.length === 0 && more === undefined && words.none}
      <StockRows rows={rows} more={more} isNow={query.as_of === undefined} />
      {more !== undefined && rows.length === 0 && <Button onClick={more}>{texts.more}</Button>}
    </>
  );
}
