// The frame of a list: its head, and rows that become cards on a phone.

import { Table } from '@mantine/core';
import type { ReactNode } from 'react';

interface ListTableProps {
  readonly label: string;
  /** What each column is called. */
  readonly columns: Readonly<Record<string, string>>;
  /** Those of numbers. */
  readonly quantities?: readonly string[];
  /** The rows. */
  readonly children: ReactNode;
}

export function ListTable(list: ListTableProps) {
  const { label, columns, quantities = [], children } = list;
  return (
    <div className="sideways">
      <Table className="cards" verticalSpacing={6} aria-label={label}>
        <Table.Thead>
          <Table.Tr>
            {Object.entries(columns).map(([name, title]) => (
              <Table.Th key={name} className={quantities.includes(name) ? 'quantity' : undefined}>
                {title}
              </Table.Th>
            ))}
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>{children}</Table.Tbody>
      </Table>
    </div>
  );
}
