// A screen that needs a right says which, to whoever lacks it.

import { Alert, Text } from '@mantine/core';
import type { ReactNode } from 'react';
import { type Scope, useMe } from '../service/me.tsx';
import { texts } from '../texts.ts';

interface NeedsScopeProps {
  readonly scope: Scope | null;
  readonly children: ReactNode;
}

export function NeedsScope({ scope, children }: NeedsScopeProps) {
  const { scopes } = useMe();
  if (scope === null || scopes.has(scope)) return children;
  return (
    <Alert role="alert" color="yellow" variant="light" title={texts.rights.title} mt="md">
      <Text size="sm">
        {texts.rights.missing(texts.scopes[scope])} <span className="code">{scope}</span>
      </Text>
      <Text size="sm">{texts.rights.ask}</Text>
    </Alert>
  );
}
