"""What is done to campaigns beyond their drafts, and asked of those that were launched.

Everything is about one workspace, as in `campaigns.py`. Acts are in the audit log, and so are refusals.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING

from postroom.campaigns.drafts.readiness import insist_on_readiness
from postroom.campaigns.looking.explaining import Explained, explain
from postroom.campaigns.looking.totals import Discrepancy, Headcount, Totals, discrepancies, headcount, totals_of
from postroom.campaigns.sending.acting import (
    cancel_campaign,
    cancelled_through,
    pause_campaign,
    pause_prospect,
    resume_campaign,
    resume_prospect,
    stop_in_campaign,
)
from postroom.campaigns.sending.launching import Launched, Progress, launch
from postroom.campaigns.sending.replanning import replan
from postroom.campaigns.stopping.stops import Stopped
from postroom.campaigns.values import Campaign
from postroom.operate.campaign_recording import check_seen, on_record
from postroom.operate.recording import By, line, new_tie, refused_on_record
from postroom.operate.values import Workspaces
from postroom.operate.verb import Shell, asks, asks_in_steps, does_in_steps
from postroom.store.plan import Course, Plan
from postroom.vocabulary import LaunchStage
from postroom.work.breakers import shut_routes

if TYPE_CHECKING:
    from postroom.templates.portal import Portal


class CampaignActs(Shell):
    """Launch, pause, resume, cancel; what became of it, and why the rest waits."""

    @does_in_steps
    def launch(
        self,
        workspace: str,
        id: str,
        *,
        by: By,
        portals: Mapping[str, Portal] | None = None,
        again: bool = False,
        progress: Progress = lambda stage, count: None,
        workspaces: Workspaces = None,
    ) -> Course[Launched]:
        """Launch a campaign, or go on with its launch. All of it is checked before anything is written.

        Stopped in the middle, the same again does the rest; done twice, the second time schedules nothing. One that was
        cancelled is launched only with `again`. `progress` is told how far it has come.
        """
        check_seen(workspace, workspaces)
        asked = {"workspace": workspace, "campaign": id, "again": again or None, "act": new_tie()}
        doing = self._launch(workspace, id, portals or {}, again=again, progress=progress)
        yield line(by, "campaign_launch", state="begun", **asked)
        done = yield from refused_on_record(doing, by, "campaign_launch", state="stopped", **asked)
        told = {"scheduled": done.scheduled, "revived": done.revived or None, "skipped": dict(done.skipped) or None}
        yield line(by, "campaign_launch", state="done", **asked, **told)
        return done

    def _launch(
        self,
        workspace: str,
        id: str,
        portals: Mapping[str, Portal],
        *,
        again: bool,
        progress: Progress,
    ) -> Course[Launched]:
        checking = partial(progress, LaunchStage.CHECKING)
        yield from insist_on_readiness(
            workspace, id, now=self.now(), rules=self.rules, portals=portals, progress=checking
        )
        return (yield from launch(workspace, id, again=again, progress=progress))

    @does_in_steps
    def pause(
        self, workspace: str, id: str, *, by: By, reason: str | None = None, workspaces: Workspaces = None
    ) -> Course[Campaign]:
        """Let nothing of a campaign leave until it is resumed; at most what is being handed over goes out."""
        check_seen(workspace, workspaces)
        doing = pause_campaign(workspace, id, reason=reason)
        return (yield from on_record(doing, by, "campaign_pause", workspace, campaign=id, reason=reason))

    @does_in_steps
    def resume(self, workspace: str, id: str, *, by: By, workspaces: Workspaces = None) -> Course[Launched]:
        """Let a paused campaign run again, and its launch go on where the pause had cut it short."""
        check_seen(workspace, workspaces)
        told = {"workspace": workspace, "campaign": id}
        done = yield from refused_on_record(resume_campaign(workspace, id), by, "campaign_resume", **told)
        yield line(by, "campaign_resume", **told)
        return done

    @does_in_steps
    def cancel(self, workspace: str, id: str, *, by: By, workspaces: Workspaces = None) -> Course[Stopped]:
        """Let nothing of a campaign leave ever again, unless it is launched again on purpose.

        That holds at once. Stopped before it has come to all of its people, the same again, or a worker, does the rest.
        """
        check_seen(workspace, workspaces)
        goes_on = yield from on_record(cancel_campaign(workspace, id), by, "campaign_cancel", workspace, campaign=id)
        done = (yield from cancelled_through(workspace, id)) if goes_on else Stopped()
        yield from replan(workspace)  # the places of its mails are for others
        return done

    @does_in_steps
    def pause_prospect(
        self, workspace: str, id: str, prospect: str, *, by: By, workspaces: Workspaces = None
    ) -> Course[None]:
        """Leave one prospect of a campaign alone for a while."""
        check_seen(workspace, workspaces)
        doing, told = pause_prospect(workspace, id, prospect), {"campaign": id, "prospect": prospect}
        return (yield from on_record(doing, by, "campaign_pause_prospect", workspace, **told))

    @does_in_steps
    def resume_prospect(
        self, workspace: str, id: str, prospect: str, *, by: By, workspaces: Workspaces = None
    ) -> Course[None]:
        """Go on with a prospect who was paused."""
        check_seen(workspace, workspaces)
        doing, told = resume_prospect(workspace, id, prospect), {"campaign": id, "prospect": prospect}
        return (yield from on_record(doing, by, "campaign_resume_prospect", workspace, **told))

    @does_in_steps
    def stop_prospect(
        self, workspace: str, id: str, prospect: str, *, by: By, reason: str, workspaces: Workspaces = None
    ) -> Course[Stopped]:
        """Send one prospect nothing more of a campaign."""
        check_seen(workspace, workspaces)
        doing = stop_in_campaign(workspace, id, prospect, reason=reason)
        told = {"campaign": id, "prospect": prospect, "reason": reason}
        return (yield from on_record(doing, by, "campaign_stop_prospect", workspace, **told))

    @asks
    def totals(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Totals]:
        """How many mails of a launched campaign stand where, and why."""
        check_seen(workspace, workspaces)
        return (yield from totals_of(workspace, id))

    @asks
    def headcount(self, workspace: str, id: str, *, workspaces: Workspaces = None) -> Plan[Headcount]:
        """How many prospects the launch of a campaign has launched, passed over and why, or not reached yet."""
        check_seen(workspace, workspaces)
        return (yield from headcount(workspace, id))

    @asks_in_steps
    def discrepancies(
        self, workspace: str, id: str, *, workspaces: Workspaces = None
    ) -> Course[tuple[Discrepancy, ...]]:
        """Where the books of a campaign do not add up; nothing, if all is well."""
        check_seen(workspace, workspaces)
        return (yield from discrepancies(workspace, id))

    @asks
    def waiting(
        self,
        workspace: str,
        id: str,
        *,
        after: tuple[int, int] = (0, 0),
        limit: int = 100,
        workspaces: Workspaces = None,
    ) -> Plan[tuple[Explained, ...]]:
        """The next mails that have not left, each with the one reason why; read on with the last one's number and
        step."""
        check_seen(workspace, workspaces)
        return (yield from explain(workspace, id, after=after, limit=limit, shut=(yield from shut_routes())))
