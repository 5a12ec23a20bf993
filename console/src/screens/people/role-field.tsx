// Which role, with what it lets somebody do. Only roles whose rights one has oneself can be given.

import { Radio, Stack, Text } from '@mantine/core';
import { Rights } from '../../parts/rights.tsx';
import { useMe } from '../../service/me.tsx';
import { type RoleName, roleNames, scopesByRole } from '../../service/roles.ts';
import { texts } from '../../texts.ts';

const words = texts.people;

interface RoleFieldProps {
  readonly value: RoleName;
  readonly isOff: boolean;
  onChange(role: RoleName): void;
}

export function RoleField({ value, isOff, onChange }: RoleFieldProps) {
  const { scopes } = useMe();
  const offered = roleNames.filter((role) => scopesByRole[role].every((one) => scopes.has(one)));
  return (
    <Stack gap="xs">
      <Radio.Group
        label={words.role}
        value={value}
        onChange={(chosen) => onChange(chosen as RoleName)}
      >
        <Stack gap={6} mt={4}>
          {offered.map((role) => (
            <Radio
              key={role}
              value={role}
              label={texts.roles[role]}
              description={words.roleHints[role]}
              disabled={isOff}
            />
          ))}
        </Stack>
      </Radio.Group>
      <Text size="sm" c="dimmed">
        {words.mayDo}
      </Text>
      <Rights scopes={scopesByRole[value]} />
    </Stack>
  );
}
