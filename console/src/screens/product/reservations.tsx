// What of a product is put aside at a location, and for whom.

import { List, Text } from '@mantine/core';
import { type InventoryReservation, type Product, Quantity } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { momentText, quantityText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
import { tb } from '../../service/client.ts';
import { texts } from '../../texts.ts';
import { useLevels } from './levels.tsx';

const words = texts.product;

/** The list of reservations has no filter by product: so many are looked through. */
const lookedThrough = 1_000;

interface ReservationsProps {
  readonly product: Product;
  readonly location: string;
}

export function Reservations({ product, location }: ReservationsProps) {
  const { data: levels } = useLevels(product.id);
  const reserved = levels?.find(({ location_id }) => location_id === location)?.reserved_quantity;
  const isAny = typeof reserved === 'string' && Quantity.compare(reserved, '0') > 0;
  const { data, error } = useQuery({
    queryKey: ['reservations', 'product', product.id, location, reserved],
    enabled: isAny,
    queryFn: ({ signal }) => activeOf(product.id, location, signal),
  });
  if (!isAny) return null;
  return (
    <section aria-label={words.reservations}>
      <Text fw={600} size="sm">
        {words.putAside(quantityText(reserved))}
      </Text>
      {error !== null && <Failure error={error} />}
      <List size="sm" mb="sm">
        {data?.map(({ id, reference, note, actor, expires_at, lines }) => (
          <List.Item key={id}>
            {words.reservation(
              quantityText(lines.find((line) => line.product_id === product.id)?.quantity ?? '0'),
              reference ?? note ?? id,
              actor.name,
            )}
            {expires_at !== null && ` ${words.until(momentText(expires_at))}`}
          </List.Item>
        ))}
      </List>
    </section>
  );
}

async function activeOf(product: string, location_id: string, signal: AbortSignal) {
  const found: InventoryReservation[] = [];
  let seen = 0;
  const query = { location_id, status: 'active', limit: 200 } as const;
  for await (const reservation of tb.inventory.reservations.list(query, { signal })) {
    if (reservation.lines.some(({ product_id }) => product_id === product)) found.push(reservation);
    seen += 1;
    if (seen >= lookedThrough) break;
  }
  return found;
}
