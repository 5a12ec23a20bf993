// Leads from an operation's ID to what became of it.

import { Anchor } from '@mantine/core';
import { Link } from 'react-router';
import { useMay } from '../service/me.tsx';

interface RequestLinkProps {
  readonly id: string;
  /** Otherwise only its end is shown. */
  readonly isWhole?: boolean;
}

export function RequestLink({ id, isWhole = false }: RequestLinkProps) {
  const mayRead = useMay('operations.read');
  const shown = isWhole ? id : `…${id.slice(-6)}`;
  if (!mayRead) return <span className="code">{shown}</span>;
  return (
    <Anchor component={Link} to={`/requests?q=${id}`} className="code" title={id} size="sm">
      {shown}
    </Anchor>
  );
}
