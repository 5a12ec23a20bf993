// The answer to "what became of my request?", in words.

import {
  Alert,
  Anchor,
  Badge,
  Button,
  Card,
  Group,
  List,
  Stack,
  Text,
  Title,
  VisuallyHidden,
} from '@mantine/core';
import type { Operation } from '@tallybook/client';
import type { ReactNode } from 'react';
import { Link } from 'react-router';
import { exactMomentText } from '../../format.ts';
import { Failure, fieldText } from '../../parts/failure.tsx';
import { Loading } from '../../parts/loading.tsx';
import { ProductLink } from '../../parts/product-link.tsx';
import { useLocationName, useProduct } from '../../service/names.ts';
import { texts } from '../../texts.ts';
import { Changed } from './changed.tsx';
import { understood, useFound } from './find.ts';

const words = texts.requests;

export function Found({ q, by }: { readonly q: string; readonly by: string | undefined }) {
  const { data, error, isPending, refetch } = useFound(q, by);
  if (error !== null) return <Failure error={error} onAgain={() => void refetch()} />;
  if (isPending) return <Loading />;
  return (
    <Stack component="section" gap="sm" aria-label={words.answer}>
      <VisuallyHidden role="status">{inShort(data)}</VisuallyHidden>
      {data.length === 0 && <Nothing q={q} onAgain={() => void refetch()} />}
      {data.length > 1 && <Text>{words.several(data.length)}</Text>}
      {data.map((operation) => (
        <Outcome key={operation.id} operation={operation} />
      ))}
    </Stack>
  );
}

/** For who does not see the answer appear. */
function inShort([first]: readonly Operation[]): string {
  if (first === undefined) return words.nothing.title;
  return first.status === 'succeeded' ? words.happened(typeText(first.type)) : words.refused;
}

function Nothing({ q, onAgain }: { readonly q: string; onAgain(): void }) {
  const kind = understood(q);
  return (
    <Alert color="gray" variant="light" title={words.nothing.title}>
      <List size="sm">
        {words.nothing[kind].map((sentence) => (
          <List.Item key={sentence}>{sentence}</List.Item>
        ))}
      </List>
      <Button mt="sm" size="xs" variant="default" onClick={onAgain}>
        {words.nothing.again}
      </Button>
    </Alert>
  );
}

function Outcome({ operation }: { readonly operation: Operation }) {
  const isDone = operation.status === 'succeeded';
  const didNothing = isDone && operation.position === null && operation.type.includes('update');
  return (
    <Card withBorder>
      <Stack gap="sm">
        <Group gap="sm">
          <StatusBadge operation={operation} />
          <Title order={2}>
            {isDone ? words.happened(typeText(operation.type)) : words.refused}
          </Title>
        </Group>
        <Text size="sm">{isDone ? words.once : words.refusedMeans}</Text>
        {didNothing && <Text size="sm">{words.wasSo}</Text>}
        {operation.error !== null && <Refusal error={operation.error} />}
        <Facts operation={operation} />
        {isDone && <Changed operation={operation} />}
      </Stack>
    </Card>
  );
}

export function StatusBadge({ operation }: { readonly operation: Operation }) {
  const isDone = operation.status === 'succeeded';
  return (
    <Badge variant="light" color={isDone ? 'harbour' : 'red'} className="status">
      {words.statuses[operation.status]}
    </Badge>
  );
}

export const typeText = (type: string): string => words.types[type] ?? type;

export const refusalText = (code: string): string =>
  words.refusals[code] ?? code.replaceAll('_', ' ');

function Refusal({ error }: { readonly error: NonNullable<Operation['error']> }) {
  return (
    <Alert color="red" variant="light" title={refusalText(error.code)}>
      <List size="sm">
        {error.details.map((detail) => (
          <List.Item key={JSON.stringify(detail)}>
            {typeof detail.field === 'string' && <strong>{fieldText(detail.field)} </strong>}
            <RefusedProduct detail={detail} />
            {String(detail.message ?? detail.code ?? '')}
          </List.Item>
        ))}
      </List>
      <Text size="sm" mt={4}>
        <span className="code">{error.code}</span>
      </Text>
    </Alert>
  );
}

/** Whose stock it was about, where the refusal says so. */
export function RefusedProduct({ detail }: { readonly detail: object | undefined }) {
  const { product_id: id } = Object(detail) as { readonly product_id?: unknown };
  const known = typeof id === 'string' ? id : undefined;
  const product = useProduct(known);
  return known === undefined ? null : (
    <>
      <ProductLink id={known} name={product?.name} />{' '}
    </>
  );
}

function Facts({ operation }: { readonly operation: Operation }) {
  const nameOf = useLocationName();
  const { facts } = words;
  const { actor, location_id: location } = operation;
  return (
    <dl className="pairs">
      <Fact name={facts.what}>{typeText(operation.type)}</Fact>
      <Fact name={facts.when}>{exactMomentText(operation.created_at)}</Fact>
      <Fact name={facts.who}>
        {actor.application_id === null ? actor.name : `${actor.name}, ${facts.application}`}
      </Fact>
      {location !== null && <Fact name={facts.where}>{nameOf(location)}</Fact>}
      <Fact name={facts.operation}>
        <span className="code">{operation.id}</span>
      </Fact>
      <Fact name={facts.request}>
        <Anchor component={Link} to={`/requests?q=${operation.request_id}`} className="code">
          {operation.request_id}
        </Anchor>
      </Fact>
    </dl>
  );
}

function Fact({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  );
}
