// A sheet to count with a pencil: the products of a location, and a column to write in. The same as
// a file, to be filled in and read again.

import { Button, Menu, Portal, Table, Text } from '@mantine/core';
import type { StockItem } from '@tallybook/client';
import { useMutation } from '@tanstack/react-query';
import { useEffect } from 'react';
import { momentText } from '../../format.ts';
import { Failure } from '../../parts/failure.tsx';
import { tb } from '../../service/client.ts';
import { useLocations } from '../../service/me.tsx';
import './paper.css';
import { texts } from '../../texts.ts';

const words = texts.count;

interface Sheet {
  readonly as: 'paper' | 'file';
  readonly rows: readonly StockItem[];
}

export function PrintSheet({ place }: { readonly place: string }) {
  const name = useLocations()?.find(({ id }) => id === place)?.name ?? '';
  const { mutate, data, error, isPending, reset } = useMutation({
    mutationFn: async (as: Sheet['as']): Promise<Sheet> => {
      const rows: StockItem[] = [];
      for await (const row of tb.stock.list({ location_id: place, limit: 200 })) rows.push(row);
      return { as, rows };
    },
    onSuccess: ({ as, rows }) => {
      if (as === 'file') download(`${words.sheetName(name)}.csv`, csvOf(rows));
    },
  });
  return (
    <>
      <Menu position="bottom-end">
        <Menu.Target>
          <Button variant="default" size="xs" loading={isPending}>
            {words.sheet}
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          <Menu.Item onClick={() => mutate('paper')}>{words.print}</Menu.Item>
          <Menu.Item onClick={() => mutate('file')}>{words.download}</Menu.Item>
        </Menu.Dropdown>
      </Menu>
      {error !== null && <Failure error={error} />}
      {data?.as === 'paper' && <Paper title={name} rows={data.rows} onPrinted={reset} />}
    </>
  );
}

interface PaperProps {
  readonly title: string;
  readonly rows: readonly StockItem[];
  onPrinted(): void;
}

/** On paper alone: the page itself is not printed with it. */
function Paper({ title, rows, onPrinted }: PaperProps) {
  useEffect(() => {
    addEventListener('afterprint', onPrinted);
    print();
    return () => removeEventListener('afterprint', onPrinted);
  }, [onPrinted]);
  return (
    <Portal>
      <div className="paper">
        <Text fw={700} size="lg">
          {words.sheetName(title)}
        </Text>
        <Text size="sm">{momentText(new Date().toISOString())}</Text>
        <Table withTableBorder withColumnBorders verticalSpacing={4}>
          <Table.Thead>
            <Table.Tr>
              {words.sheetColumns.map((column) => (
                <Table.Th key={column}>{column}</Table.Th>
              ))}
            </Table.Tr>
          </Table.Thead>
          <Table.Tbody>
            {rows.map(({ product_id, name, sku, barcode, unit }) => (
              <Table.Tr key={product_id}>
                <Table.Td>{name}</Table.Td>
                <Table.Td>{sku}</Table.Td>
                <Table.Td>{barcode}</Table.Td>
                <Table.Td>{unit.code}</Table.Td>
                <Table.Td className="paper-blank" />
              </Table.Tr>
            ))}
          </Table.Tbody>
        </Table>
      </div>
    </Portal>
  );
}

function csvOf(rows: readonly StockItem[]): string {
  const lines = rows.map(({ sku, barcode, name }) => [sku ?? '', barcode ?? '', name, '']);
  return [['sku', 'barcode', 'name', 'counted'], ...lines]
    .map((cells) => cells.map(csvCell).join(','))
    .join('\r\n');
}

/** A spreadsheet would run what begins with one of these as a formula. */
function csvCell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",;\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function download(name: string, text: string): void {
  // Spreadsheets take a file without this mark for another encoding.
  const url = URL.createObjectURL(new Blob(['\ufeff', text], { type: 'text/csv' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
