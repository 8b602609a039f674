"""The client for backends of Sealpost: sends notifications, recalls them, reads outcomes, verifies webhooks."""

from .client import Client
from .errors import Denied, Interference, Overloaded, Problem, Refused, SealpostError, ServerFault, StateChanged, Unreachable
from .values import Delivery, DeliveryCounts, Device, Event, EventPage, Lane, Notification, Recipient, Sent, Status, UserKeys, user
from .webhooks import Confirmation, Events, InvalidMessage, Other, Push, Webhook

__version__ = "0.2.0"
__all__ = [
    "Client", "Confirmation", "Delivery", "DeliveryCounts", "Denied", "Device", "Event", "EventPage", "Events", "Interference",
    "InvalidMessage", "Lane", "Notification", "Other", "Overloaded", "Problem", "Push", "Recipient", "Refused", "SealpostError", "Sent",
    "ServerFault", "StateChanged", "Status", "Unreachable", "UserKeys", "Webhook", "user",
]
