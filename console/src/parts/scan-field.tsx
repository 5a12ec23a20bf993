// Finds products at a location by what a scanner or a person types. A whole barcode or SKU and
// Enter adds at once; the next scan need not wait for the answer to this one.

import { Alert, Autocomplete, Button, Group, Stack, Text } from '@mantine/core';
import { useDebouncedValue } from '@mantine/hooks';
import type { StockItem, StockListQuery } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { type KeyboardEvent, type RefObject, useRef, useState } from 'react';
import { quantityText } from '../format.ts';
import { tb } from '../service/client.ts';
import { texts } from '../texts.ts';
import { useQuantityScans } from './quantity-scans.ts';

const words = texts.scan;

/** Where to look, and as of which place in the journal. */
export type ScanQuery = Pick<StockListQuery, 'location_id' | 'as_of_position' | 'journal'>;

interface ScanFieldProps {
  readonly field: RefObject<HTMLInputElement | null>;
  readonly query: ScanQuery;
  readonly disabled?: boolean;
  onFound(product: StockItem): void;
}

const suggestions = 8;

export function ScanField({ field, query, disabled = false, onFound }: ScanFieldProps) {
  const [typed, setTyped] = useState('');
  const shown = useSuggestions(query, typed.trim());
  const { said, unknown, choices, add, scan, choose, forget } = useScanning(field, query, onFound);
  useQuantityScans((code) => {
    if (disabled) return;
    field.current?.focus();
    scan(code);
  });
  const onKeyDown = (event: KeyboardEvent) => {
    if (!isWholeCode(event, typed)) return;
    event.preventDefault();
    scan(typed.trim());
    setTyped('');
  };
  return (
    <Stack gap={4}>
      <Autocomplete
        ref={field}
        label={words.label}
        placeholder={words.placeholder}
        value={typed}
        disabled={disabled}
        openOnFocus={false}
        onChange={setTyped}
        onKeyDown={onKeyDown}
        onOptionSubmit={(id) => {
          const product = shown.find(({ product_id }) => product_id === id);
          // The field writes the chosen name into itself behind this.
          queueMicrotask(() => setTyped(''));
          if (product !== undefined) add(product);
        }}
        data={shown.map(choiceOf)}
        filter={({ options }) => options}
        renderOption={({ option }) => <Suggestion of={shown} id={option.value} />}
        maxDropdownHeight={340}
      />
      <Text size="sm" c="dimmed" role="status" mih={22}>
        {said}
      </Text>
      <Choices choices={choices} onChoose={choose} />
      <Unknown codes={unknown} onForget={forget} />
    </Stack>
  );
}

/** What came of scans: what was added, what nobody knows, and what somebody has to choose from. */
function useScanning(
  field: ScanFieldProps['field'],
  query: ScanQuery,
  onFound: ScanFieldProps['onFound'],
) {
  const [said, setSaid] = useState('');
  const [unknown, setUnknown] = useState<readonly string[]>([]);
  const [choices, setChoices] = useState<readonly Choice[]>([]);
  const add = (product: StockItem) => {
    setSaid(words.added(product.name));
    onFound(product);
  };
  const scan = useScans(query, {
    onOne: add,
    onNone: (code, reason) => {
      setSaid(reason);
      setUnknown((before) => [...before.filter((one) => one !== code), code]);
    },
    onSilence: setSaid,
    onSeveral: (choice, reason) => {
      setSaid(reason);
      setChoices((before) => [...before.filter(({ code }) => code !== choice.code), choice]);
    },
  });
  const choose = (choice: Choice, product: StockItem | undefined) => {
    setChoices((before) => before.filter((one) => one !== choice));
    if (product !== undefined) add(product);
    field.current?.focus();
  };
  const forget = () => setUnknown([]);
  return { said, unknown, choices, add, scan, choose, forget };
}

const choiceOf = ({ product_id: value, name: label }: StockItem) => ({ value, label });

/** Not when somebody went to a suggestion with the arrow keys. */
function isWholeCode({ key }: KeyboardEvent, typed: string): boolean {
  const isChosen = document.querySelector('[role=option][data-combobox-selected]') !== null;
  return key === 'Enter' && typed.trim() !== '' && !isChosen;
}

/** What was scanned, and which products have that code or name. */
interface Choice {
  readonly code: string;
  readonly products: readonly StockItem[];
}

interface ChoicesProps {
  readonly choices: readonly Choice[];
  onChoose(choice: Choice, product: StockItem | undefined): void;
}

/** They stay until somebody has chosen: scans that come meanwhile go on. */
function Choices({ choices, onChoose }: ChoicesProps) {
  return choices.map((choice) => (
    <Alert key={choice.code} color="orange" variant="light" title={words.which(choice.code)}>
      <Stack gap={6} align="flex-start">
        {choice.products.slice(0, suggestions).map((product) => (
          <Button
            key={product.product_id}
            size="xs"
            variant="default"
            h="auto"
            py={4}
            styles={{ label: { whiteSpace: 'normal', textAlign: 'left', lineHeight: 1.5 } }}
            onClick={() => onChoose(choice, product)}
          >
            {[product.name, product.sku].filter((text) => text !== null).join(' · ')}
          </Button>
        ))}
        {choice.products.length > suggestions && <Text size="sm">{words.moreOfThem}</Text>}
        <Button size="xs" variant="subtle" onClick={() => onChoose(choice, undefined)}>
          {words.noneOfThem}
        </Button>
      </Stack>
    </Alert>
  ));
}

interface UnknownProps {
  readonly codes: readonly string[];
  onForget(): void;
}

/** Whoever scans on does not read: what was not found stays until somebody has seen it. */
function Unknown({ codes, onForget }: UnknownProps) {
  if (codes.length === 0) return null;
  return (
    <Alert color="orange" variant="light" title={words.unknown(codes.length)}>
      <Group justify="space-between">
        <span className="code">{codes.join(', ')}</span>
        <Button size="xs" variant="default" onClick={onForget}>
          {words.seen}
        </Button>
      </Group>
    </Alert>
  );
}

function useSuggestions(query: ScanQuery, typed: string): readonly StockItem[] {
  const [settled] = useDebouncedValue(typed, 200);
  const { data: found = [] } = useQuery({
    queryKey: ['stock', 'scan', query, settled],
    enabled: settled !== '',
    queryFn: ({ signal }) => search(query, settled, signal),
  });
  return typed === '' ? [] : found.slice(0, suggestions);
}

function Suggestion({ of, id }: { readonly of: readonly StockItem[]; readonly id: string }) {
  const product = of.find(({ product_id }) => product_id === id);
  if (product === undefined) return null;
  return (
    <Group justify="space-between" wrap="nowrap" w="100%">
      <div>
        <Text size="sm">{product.name}</Text>
        <Text size="xs" c="dimmed" className="code">
          {[product.sku, product.barcode].filter((code) => code !== null).join(' · ')}
        </Text>
      </div>
      <Text size="sm" className="quantity">
        {quantityText(product.quantity)}
      </Text>
    </Group>
  );
}

interface ScanAnswers {
  onOne(product: StockItem): void;
  onNone(code: string, reason: string): void;
  onSilence(reason: string): void;
  onSeveral(choice: Choice, reason: string): void;
}

/** One after the other, in the order of the scans. */
function useScans(query: ScanQuery, answers: ScanAnswers): (code: string) => void {
  const last = useRef(Promise.resolve());
  const latest = useRef(answers);
  latest.current = answers;
  return (code) => {
    last.current = last.current.then(async () => {
      try {
        const found = await search(query, code);
        const exact = found.filter((product) => hasCode(product, code));
        const products = exact.length > 0 ? exact : found;
        const [one, ...others] = products;
        if (one === undefined) return latest.current.onNone(code, words.none(code));
        if (others.length > 0)
          return latest.current.onSeveral({ code, products }, words.several(code));
        latest.current.onOne(one);
      } catch {
        latest.current.onSilence(words.noAnswer(code));
      }
    });
  };
}

async function search(query: ScanQuery, q: string, signal?: AbortSignal): Promise<StockItem[]> {
  return (await tb.stock.list({ ...query, q, limit: 20 }, { signal })).data;
}

function hasCode({ sku, barcode }: StockItem, code: string): boolean {
  const same = (one: string | null) => one?.toLowerCase() === code.toLowerCase();
  return same(barcode) || same(sku);
}
