// Makes a webhook, or changes one.

import { Checkbox, MultiSelect, TextInput } from '@mantine/core';
import { VersionError, type Webhook } from '@tallybook/client';
import { useQuery } from '@tanstack/react-query';
import { Dialog } from '../../parts/dialog.tsx';
import { DialogButtons } from '../../parts/dialog-buttons.tsx';
import { problemAt } from '../../parts/failure.tsx';
import { OtherVersion } from '../../parts/other-version.tsx';
import { PostState } from '../../parts/post-state.tsx';
import { tb } from '../../service/client.ts';
import { type Draft, useDraft } from '../../service/drafts.ts';
import { useLocations } from '../../service/me.tsx';
import { type Post, usePost } from '../../service/post.ts';
import { texts } from '../../texts.ts';
import type { WebhookDialogProps } from './webhook-card.tsx';

const words = texts.webhooks;

type EventType = keyof typeof words.types;

interface Form {
  readonly url: string;
  readonly description: string;
  /** None: all. */
  readonly types: readonly EventType[];
  readonly location_ids: readonly string[];
  readonly low_stock: boolean;
  /** Of a change: which version it is made to. */
  readonly version: number;
}

const empty: Form = {
  ...{ url: 'https://', description: '', types: [], location_ids: [] },
  ...{ low_stock: false, version: 0 },
};

const typeChoices = Object.entries(words.types).map(([value, label]) => ({ value, label }));

const formOf = ({ url, description, types, location_ids, ...rest }: Webhook): Form => ({
  url,
  description: description ?? '',
  types: types ?? [],
  location_ids: location_ids ?? [],
  low_stock: rest.low_stock,
  version: rest.version,
});

function bodyOf({ url, description, types, location_ids, low_stock }: Form) {
  return {
    url: url.trim(),
    description: description.trim() === '' ? null : description.trim(),
    types: types.length === 0 ? null : types,
    location_ids: location_ids.length === 0 ? null : location_ids,
    low_stock,
  };
}

const useMaking = () => useDraft<Form>('webhook:make', empty);

/** One that was sent, and not answered, goes on where it was left. */
export const useIsMaking = (): boolean => useMaking().isSent;

export function MakeWebhook({ onDone, onClose }: Omit<WebhookDialogProps, 'webhook'>) {
  const draft = useMaking();
  const post = usePost({
    draft,
    write: (form, options) => tb.webhooks.create(bodyOf(form), options),
    onDone: ({ data }) => onDone(data),
  });
  return (
    <Dialog title={words.make} onClose={onClose}>
      <Fields draft={draft} post={post} />
      <PostState post={post} />
      <Buttons draft={draft} post={post} text={words.make} onClose={onClose} />
    </Dialog>
  );
}

export function ChangeWebhook({ webhook, onDone, onClose }: WebhookDialogProps) {
  const draft = useDraft<Form>(`webhook:${webhook.id}`, formOf(webhook));
  const post = usePost({
    draft,
    write: (form, options) =>
      tb.webhooks.update(webhook.id, bodyOf(form), { ...options, ifMatch: form.version }),
    onDone: ({ data }) => onDone(data),
  });
  const isOther = post.problem instanceof VersionError && !post.isBusy;
  return (
    <Dialog title={words.changeTitle} onClose={onClose}>
      <Fields draft={draft} post={post} />
      {isOther ? (
        <Other id={webhook.id} draft={draft} post={post} onClose={onClose} />
      ) : (
        <PostState post={post} />
      )}
      <Buttons draft={draft} post={post} text={texts.save} isOff={isOther} onClose={onClose} />
    </Dialog>
  );
}

interface FormProps {
  readonly draft: Draft<Form>;
  readonly post: Post;
}

function Fields({ draft: { value, isSent, change }, post }: FormProps) {
  const locations = useLocations() ?? [];
  return (
    <>
      <TextInput
        type="url"
        label={words.url}
        description={words.urlHint}
        value={value.url}
        data-autofocus
        disabled={isSent}
        error={problemAt(post.problem, 'url')}
        onChange={(event) => change({ ...value, url: event.currentTarget.value })}
      />
      <TextInput
        label={words.description}
        value={value.description}
        maxLength={255}
        disabled={isSent}
        onChange={(event) => change({ ...value, description: event.currentTarget.value })}
      />
      <MultiSelect
        label={words.what}
        placeholder={value.types.length === 0 ? words.allTypes : ''}
        data={typeChoices}
        value={[...value.types]}
        disabled={isSent}
        hidePickedOptions
        onChange={(types) => change({ ...value, types: types as EventType[] })}
      />
      <MultiSelect
        label={words.where}
        placeholder={value.location_ids.length === 0 ? texts.allLocations : ''}
        data={locations.map(({ id, name }) => ({ value: id, label: name }))}
        value={[...value.location_ids]}
        disabled={isSent}
        onChange={(location_ids) => change({ ...value, location_ids })}
      />
      <Checkbox
        label={words.lowStock}
        checked={value.low_stock}
        disabled={isSent}
        onChange={(event) => change({ ...value, low_stock: event.currentTarget.checked })}
      />
    </>
  );
}

interface ButtonsProps extends FormProps {
  readonly text: string;
  readonly isOff?: boolean;
  onClose(): void;
}

function Buttons({ draft, post, text, isOff = false, onClose }: ButtonsProps) {
  const cancel = () => {
    if (!draft.isSent) draft.clear();
    onClose();
  };
  const isEmpty = !/^https?:\/\/./.test(draft.value.url.trim());
  return <DialogButtons post={post} text={text} isOff={isOff || isEmpty} onCancel={cancel} />;
}

interface OtherProps extends FormProps {
  readonly id: string;
  onClose(): void;
}

function Other({ id, draft, post, onClose }: OtherProps) {
  const { value } = draft;
  const { data: now } = useQuery({
    queryKey: ['webhooks', id, value.version],
    staleTime: 0,
    queryFn: async ({ signal }) => (await tb.webhooks.get(id, { signal })).data,
  });
  if (now === undefined) return null;
  const typesOf = (types: readonly EventType[] | null) =>
    types === null || types.length === 0
      ? words.allTypes
      : types.map((type) => words.types[type]).join(', ');
  const rows = [
    { name: words.url, now: now.url, mine: value.url },
    { name: words.what, now: typesOf(now.types), mine: typesOf(value.types) },
    { name: words.description, now: now.description ?? '', mine: value.description },
  ];
  const takeMine = () => {
    draft.change({ ...value, version: now.version });
    post.send();
  };
  const leave = () => {
    draft.clear();
    onClose();
  };
  return <OtherVersion rows={rows} onMine={takeMine} onTheirs={leave} />;
}
