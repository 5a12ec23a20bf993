// What a program may do: some of what one may do oneself.

import { Checkbox, SimpleGrid } from '@mantine/core';
import { type Scope, useMe } from '../../service/me.tsx';
import { allScopes } from '../../service/roles.ts';
import { texts } from '../../texts.ts';

interface ScopesFieldProps {
  readonly value: readonly Scope[];
  readonly isOff: boolean;
  onChange(scopes: readonly Scope[]): void;
}

export function ScopesField({ value, isOff, onChange }: ScopesFieldProps) {
  const me = useMe();
  return (
    <Checkbox.Group
      label={texts.tokens.scopes}
      value={[...value]}
      onChange={(chosen) => onChange(allScopes.filter((scope) => chosen.includes(scope)))}
    >
      <SimpleGrid cols={{ base: 1, xs: 2 }} spacing={6} verticalSpacing={6} mt={4}>
        {allScopes
          .filter((scope) => me.scopes.has(scope))
          .map((scope) => (
            <Checkbox key={scope} value={scope} label={texts.scopes[scope]} disabled={isOff} />
          ))}
      </SimpleGrid>
    </Checkbox.Group>
  );
}
