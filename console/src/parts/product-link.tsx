// Leads to a product. Its ID stands there until its name is known.

import { Anchor } from '@mantine/core';
import { Link } from 'react-router';

interface ProductLinkProps {
  readonly id: string;
  readonly name: string | undefined;
}

export function ProductLink({ id, name }: ProductLinkProps) {
  return (
    <Anchor component={Link} to={`/products/${id}`} size="sm">
      {name ?? <span className="code">{id}</span>}
    </Anchor>
  );
}
