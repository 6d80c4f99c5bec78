#include "membership/meeting.h"

void word_add(struct word *answer, const struct word *said)
{
    if (answer->rc || (said->rc == 0 && (!said->text[0] || answer->text[0]))) return;
    *answer = *said;
}
