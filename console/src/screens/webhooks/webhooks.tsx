// To come.

import { Screen } from '../../parts/screen.tsx';
import { texts } from '../../texts.ts';

export function WebhooksScreen() {
  return <Screen title={texts.webhooks.title}>{texts.nothing}</Screen>;
}
