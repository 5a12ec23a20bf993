// The fields of a record. What is typed is kept until it is saved, and is saved only over what the
// person has seen.

import { Button, Group, Select, Stack, Textarea, TextInput } from '@mantine/core';
import { VersionError } from '@tallybook/client';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect } from 'react';
import { type Draft, useDraft } from '../service/drafts.ts';
import { tell } from '../service/notices.ts';
import { type Post, usePost } from '../service/post.ts';
import {
  type Begun,
  changesOf,
  differing,
  type Field,
  type RecordKind,
  rebased,
  type Values,
  type Versioned,
} from '../service/records.ts';
import { texts } from '../texts.ts';
import { problemAt } from './failure.tsx';
import { OtherVersion } from './other-version.tsx';
import { PostState } from './post-state.tsx';

const words = texts.records;

interface RecordFormProps<Row extends Versioned> {
  readonly kind: RecordKind<Row>;
  /** Undefined: a new one. */
  readonly row: Row | undefined;
  readonly mayWrite: boolean;
  onClose(): void;
}

export function RecordForm<Row extends Versioned>(props: RecordFormProps<Row>) {
  const { kind, row, mayWrite, onClose } = props;
  const { draft, post } = useRecordPost(props);
  const { value } = draft;
  const now = row && kind.valuesOf(row);
  const hasChanges = Object.keys(changesOf(value)).length > 0;
  const isOld = row !== undefined && draft.isThere && row.version !== value.version;
  const isBehind = isOld && hasChanges && !draft.isSent;
  const isIdle = isOld && !hasChanges;
  const { clear } = draft;
  useEffect(() => {
    if (isIdle) clear();
  }, [isIdle, clear]);
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (hasChanges && !isBehind) post.send();
  };
  const leave = () => {
    draft.clear();
    onClose();
  };
  return (
    <form onSubmit={send}>
      <Stack gap="sm">
        {isBehind && now !== undefined && (
          <Conflict {...{ draft, post, now }} version={row.version} fields={kind.fields} />
        )}
        {kind.fields.map(
          (field, index) =>
            (row !== undefined || field.isLater !== true) && (
              <RecordField
                key={field.name}
                field={field}
                isFirst={index === 0 && row === undefined}
                value={value.typed[field.name] ?? ''}
                disabled={draft.isSent || !mayWrite}
                error={problemAt(post.problem, field.name)}
                onChange={(text) =>
                  draft.change({ ...value, typed: { ...value.typed, [field.name]: text } })
                }
              />
            ),
        )}
        {!(post.problem instanceof VersionError) && <PostState post={post} />}
        {mayWrite && (
          <Group>
            <Button type="submit" loading={post.isBusy} disabled={!hasChanges || isBehind}>
              {texts.save}
            </Button>
            <Button variant="default" disabled={draft.isSent} onClick={leave}>
              {texts.cancel}
            </Button>
          </Group>
        )}
      </Stack>
    </form>
  );
}

function useRecordPost<Row extends Versioned>({ kind, row, onClose }: RecordFormProps<Row>) {
  const queries = useQueryClient();
  const values = row === undefined ? kind.empty : kind.valuesOf(row);
  const draft = useDraft<Begun>(`record:${kind.key}:${row?.id ?? 'new'}`, {
    version: row?.version ?? 0,
    base: row === undefined ? {} : values,
    typed: values,
  });
  const readAgain = () => void queries.invalidateQueries({ queryKey: [kind.key] });
  const post = usePost({
    draft,
    write: async (begun, options) =>
      row === undefined
        ? kind.create(begun.typed, options)
        : kind.update(row.id, changesOf(begun), { ...options, ifMatch: begun.version }),
    onDone: ({ data }) => {
      tell(words.saved(data.name));
      readAgain();
      onClose();
    },
  });
  // What is there now is shown beside what was typed.
  const isStale = post.problem instanceof VersionError;
  useEffect(() => {
    if (isStale) void queries.invalidateQueries({ queryKey: [kind.key] });
  }, [isStale, queries, kind.key]);
  return { draft, post };
}

interface RecordFieldProps {
  readonly field: Field;
  /** Whoever makes a record begins there. */
  readonly isFirst: boolean;
  readonly value: string;
  readonly disabled: boolean;
  readonly error: string | undefined;
  onChange(text: string): void;
}

function RecordField({ field, isFirst, onChange, ...rest }: RecordFieldProps) {
  const { label, description, isRequired = false, kind = 'text', options } = field;
  const shown = { ...rest, label, description, required: isRequired };
  if (options !== undefined) {
    return (
      <Select
        {...shown}
        data={[...options]}
        allowDeselect={false}
        searchable={options.length > 8}
        limit={60}
        onChange={(chosen) => onChange(chosen ?? '')}
      />
    );
  }
  if (kind === 'note') {
    return (
      <Textarea
        {...shown}
        autosize
        minRows={2}
        maxRows={8}
        onChange={(event) => onChange(event.currentTarget.value)}
      />
    );
  }
  return (
    <TextInput
      {...shown}
      data-autofocus={isFirst || undefined}
      type={kind}
      autoComplete="off"
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

interface ConflictProps {
  readonly draft: Draft<Begun>;
  readonly post: Post;
  readonly now: Values;
  readonly version: number;
  readonly fields: readonly Field[];
}

function Conflict({ draft, post, now, version, fields }: ConflictProps) {
  const { value } = draft;
  const after = rebased(value, version, now);
  const rows = differing(value, now, fields).map(({ name, label, options }) => {
    const text = (one = '') =>
      options?.find((option) => option.value === one)?.label ?? (one === '' ? '–' : one);
    return { name: label, now: text(now[name]), mine: text(after.typed[name]) };
  });
  const saveMine = () => {
    draft.change(after);
    post.send();
  };
  return <OtherVersion rows={rows} onTheirs={draft.clear} onMine={saveMine} />;
}
